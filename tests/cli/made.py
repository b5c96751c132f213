"""Files for the tests, made by code."""

from __future__ import annotations

import io

import numpy as np
import polars as pl

HEAD = b"task,worker,label\n"
ROWS = b"t1,ann,cat\nt1,bob,dog\nt2,ann,dog\n"
VOTES = HEAD + ROWS
LINE = b'{"task": "t1", "worker": "ann", "label": "cat"}\n'


def zst(data: bytes) -> bytes:
    """Packed with zstd (the standard library has none before Python 3.14)."""
    import pyarrow as pa

    return pa.compress(data, codec="zstd", asbytes=True)


def parquet(**columns) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


def npy(array, **kwargs) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **kwargs)
    return file.getvalue()
