"""A hash of names that is the same on every machine, in every version and for every type; it assigns tasks to parts.

    h = FNV-1a (64 bit) of the UTF-8 bytes of the name, then the finaliser of splitmix64

FNV alone has weak upper bits; the finaliser spreads them. An integer is hashed as it is written, so that 7 in one file
and "7" in another are the same task. Fowler, Noll & Vo, draft-eastlake-fnv; Steele, Lea & Flood (2014),
doi:10.1145/2714064.2660195.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

U8 = npt.NDArray[np.uint64]
# Random stream of samples.
_SAMPLE = 0xD4A3
# Every how many names one is sampled to find the ends of blocks of sorted names.
_EVERY = 64


def name_hash(names: pl.Series) -> U8:
    """Return the hash of every name; a null counts as an empty name.

    >>> [hex(int(h)) for h in name_hash(pl.Series(["7", ""]))] == [hex(int(h)) for h in name_hash(pl.Series([7, None]))]
    True
    """
    from ..em.kernels.hashing import fnv_splitmix

    texts = names.cast(pl.String).fill_null("")
    if not len(texts):
        return np.empty(0, dtype=np.uint64)
    lengths = texts.str.len_bytes().to_numpy().astype(np.int64)
    data = np.frombuffer(texts.str.join("").item().encode(), dtype=np.uint8)
    out = np.empty(len(texts), dtype=np.uint64)
    fnv_splitmix(data, lengths, out)
    return out


def sampling_order(names: pl.Series, seed: int) -> npt.NDArray[np.int64]:
    """Return a pseudo-random order of the names, every prefix of which is a random sample.

    The order does not depend on the position of a name, so the samples of partitions can be joined and cut to the
    sample of all.

    >>> names = pl.Series(["ann", "bob", "cy", "dan"])
    >>> names.gather(sampling_order(names, 0)).equals(names[::-1].gather(sampling_order(names[::-1], 0)))
    True
    """
    stream = np.random.default_rng([seed, _SAMPLE]).integers(1 << 62)
    return np.argsort(name_hash(names.cast(pl.String) + f"\0{stream}"), kind="stable").astype(np.int64)


def fingerprint_of(blocks: Iterable[pl.Series]) -> str:
    """Return a hash of many names that come in blocks: all names, as text, in sorted order."""
    digest, first = hashlib.sha256(), True
    for names in blocks:
        if len(names):
            digest.update((("" if first else "\n") + str(names.str.join("\n")[0])).encode())
            first = False
    return digest.hexdigest()[:16]


def sorted_blocks(parts: Callable[[], Iterable[pl.Series]], most: int = 5_000_000) -> Iterator[pl.Series]:
    """Yield all names of `parts()` as text in sorted order, about `most` at a time; one pass over the parts
    per block.
    """
    sizes, samples = [], []
    for names in parts():
        text = names.cast(pl.String).sort()
        sizes.append(len(text))
        samples.append(text.gather_every(_EVERY))
    sample = pl.concat(samples).sort()
    n_blocks = max(1, round(sum(sizes) / most))
    ends = [sample[len(sample) * i // n_blocks] for i in range(1, n_blocks)] if len(sample) else []
    for low, high in pairwise([None, *dict.fromkeys(ends), None]):
        inside = []
        for names in parts():
            text = names.cast(pl.String)
            text = text if low is None else text.filter(text > low)
            inside.append(text if high is None else text.filter(text <= high))
        yield pl.concat(inside).sort()
