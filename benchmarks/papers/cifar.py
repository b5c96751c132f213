"""CIFAR-10 images, and features of them that no label has touched: k-means over patches (Coates, Lee & Ng 2011).

A convolutional net on 20,000 images takes hours without a GPU; a small net on these features takes seconds and still
has something to learn. `--scale paper` trains on the images themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import data_folder
from .experiment import Scale
from .store import CACHE

F4 = npt.NDArray[np.float32]
PATCH, CENTRES, ROUNDS = 6, 400, 15


@dataclass(frozen=True)
class Images:
    """Training and test part: x, y as class codes."""

    x: F4
    y: npt.NDArray[np.int64]
    test_x: F4
    test_y: npt.NDArray[np.int64]

    def only(self, classes: tuple[int, ...]) -> Images:
        """The images of these classes, coded 0, 1, ... in the order given."""
        code = np.full(10, -1)
        code[list(classes)] = np.arange(len(classes))
        keep, test = code[self.y] >= 0, code[self.test_y] >= 0
        return Images(self.x[keep], code[self.y[keep]], self.test_x[test], code[self.test_y[test]])

    def head(self, n: int) -> Images:
        """The first n training images."""
        return Images(self.x[:n], self.y[:n], self.test_x, self.test_y)

    def thin(self, share: tuple[float, ...], seed: int = 0) -> Images:
        """Keep a share of each class, in training and test."""
        rng = np.random.default_rng([seed, 11])
        keep, test = (rng.random(len(y)) < np.take(share, y) for y in (self.y, self.test_y))
        return Images(self.x[keep], self.y[keep], self.test_x[test], self.test_y[test])


@lru_cache(maxsize=1)
def raw() -> Images:
    """x[n, 3, 32, 32] in 0..1."""
    with np.load(data_folder() / "cifar10n" / "features.npz", allow_pickle=False) as found:
        parts: dict[str, Any] = {name: found[name] for name in ("train_x", "train_y", "test_x", "test_y")}
    x, test = (parts[f"{p}_x"].transpose(0, 3, 1, 2).astype(np.float32) / 255 for p in ("train", "test"))
    return Images(x, parts["train_y"].astype(np.int64), test, parts["test_y"].astype(np.int64))


@lru_cache(maxsize=1)
def features() -> Images:
    """x[n, 4 · CENTRES], standardised; kept in the cache once made."""
    path = CACHE / "cifar-features.npz"
    images = raw()
    if not path.exists():
        x, test = _features(images.x, images.test_x)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, x=x, test=test)
    with np.load(path, allow_pickle=False) as found:
        return Images(found["x"], images.y, found["test"], images.test_y)


def described(scale: Scale) -> Images:
    """What a net is given: the images, their features, or for a smoke test thumbnails of some."""
    return {"smoke": _thumbnails, "small": features, "paper": raw}[scale]()


@lru_cache(maxsize=1)
def _thumbnails() -> Images:
    """x[n, 48]: the colours of a 4 × 4 grid, of 3,000 images for training and 500 for testing."""
    images = raw()
    x, test = (
        part.reshape(-1, 3, 4, 8, 4, 8).mean((3, 5)).reshape(-1, 48) for part in (images.x[:3000], images.test_x[:500])
    )
    mean, spread = x.mean(0), x.std(0)
    return Images((x - mean) / spread, images.y[:3000], (test - mean) / spread, images.test_y[:500])


@lru_cache(maxsize=4)
def blurred(radius: float, classes: tuple[int, ...], n: int = 2000) -> Images:
    """Features of the first n training images of these classes under a Gaussian blur of `radius` pixels.

    Patches, whitening and centres are those of the blurred images: who only has these cannot know others.
    """
    from scipy.ndimage import gaussian_filter

    images = raw().only(classes).head(n)
    path = CACHE / f"cifar-blur-{'-'.join(map(str, classes))}-{n}-{radius:g}.npz"
    if not path.exists():
        soft = (gaussian_filter(part, (0, 0, radius, radius)) for part in (images.x, images.test_x))
        x, test = _features(*soft)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, x=x, test=test)
    with np.load(path, allow_pickle=False) as found:
        return Images(found["x"], images.y, found["test"], images.test_y)


def _features(train: F4, test: F4) -> tuple[F4, F4]:
    rng = np.random.default_rng(0)
    sample = _normal(_sample(train, 60_000, rng))
    mean, white = _whitening(sample)
    centres = _kmeans((sample - mean) @ white, rng)
    x, t = (np.concatenate([_pooled(im, mean, white, centres) for im in np.array_split(part, len(part) // 50)])
            for part in (train, test))  # fmt: skip
    centre, spread = x.mean(0), x.std(0) + 1e-6
    return (x - centre) / spread, (t - centre) / spread


def _sample(images: F4, n: int, rng: np.random.Generator) -> F4:
    which = rng.integers(0, len(images), n)
    top, left = rng.integers(0, 32 - PATCH + 1, (2, n))
    cut = [images[i, :, a : a + PATCH, b : b + PATCH] for i, a, b in zip(which, top, left, strict=True)]
    return np.stack(cut).reshape(n, -1)


def _normal(patches: F4) -> F4:
    """Each patch to mean zero and deviation one, up to a floor for flat ones."""
    centred = patches - patches.mean(1, keepdims=True)
    out: F4 = centred / np.sqrt(centred.var(1, keepdims=True) + 10 / 255**2)
    return out


def _whitening(patches: F4) -> tuple[F4, F4]:
    mean = patches.mean(0)
    values, vectors = np.linalg.eigh(np.cov((patches - mean).T))
    white = vectors @ np.diag(1 / np.sqrt(values + 0.1)) @ vectors.T
    return mean, white.astype(np.float32)


def _kmeans(points: F4, rng: np.random.Generator) -> F4:
    centres = points[rng.choice(len(points), CENTRES, replace=False)]
    for _ in range(ROUNDS):
        near = (points @ centres.T - 0.5 * (centres**2).sum(1)).argmax(1)
        count = np.bincount(near, minlength=CENTRES)
        total = np.zeros_like(centres)
        np.add.at(total, near, points)
        centres = np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], centres)
    return centres.astype(np.float32)


def _pooled(images: F4, mean: F4, white: F4, centres: F4) -> F4:
    """Triangle activations, max(0, mean distance - distance), added up over the four quarters of the image."""
    side = 32 - PATCH + 1
    view = np.lib.stride_tricks.sliding_window_view(images, (PATCH, PATCH), axis=(2, 3))
    patches = view.transpose(0, 2, 3, 1, 4, 5).reshape(len(images) * side * side, -1)
    points = (_normal(patches) - mean) @ white
    square = (points**2).sum(1, keepdims=True) - 2 * points @ centres.T + (centres**2).sum(1)
    distance = np.sqrt(np.maximum(square, 0))
    active = np.maximum(distance.mean(1, keepdims=True) - distance, 0).reshape(len(images), side, side, -1)
    half = side // 2
    quarters = [active[:, a, b].sum((1, 2)) for a in (slice(0, half), slice(half, None))
                for b in (slice(0, half), slice(half, None))]  # fmt: skip
    return np.concatenate(quarters, axis=1).astype(np.float32)
