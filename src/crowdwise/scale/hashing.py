"""A hash of names that is the same on every machine, in every version and for every type: which part a task is in.

    h = FNV-1a (64 bit) of the UTF-8 bytes of the name, then the finaliser of splitmix64

FNV alone has weak upper bits; the finaliser spreads them. A whole number is hashed as it is written, so that 7 in one
file and "7" in another are one task. Fowler, Noll & Vo, draft-eastlake-fnv; Steele, Lea & Flood (2014),
doi:10.1145/2714064.2660195.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

U8 = npt.NDArray[np.uint64]


def name_hash(names: pl.Series) -> U8:
    """The hash of every name; a null counts as an empty name.

    >>> [hex(int(h)) for h in name_hash(pl.Series(["7", ""]))] == [hex(int(h)) for h in name_hash(pl.Series([7, None]))]
    True
    """
    from ..maths.kernels.hashing import fnv_splitmix

    texts = names.cast(pl.String).fill_null("")
    if not len(texts):
        return np.empty(0, dtype=np.uint64)
    lengths = texts.str.len_bytes().to_numpy().astype(np.int64)
    data = np.frombuffer(texts.str.join("").item().encode(), dtype=np.uint8)
    out = np.empty(len(texts), dtype=np.uint64)
    fnv_splitmix(data, lengths, out)
    return out
