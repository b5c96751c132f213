"""Functions on arrays of lines."""

from __future__ import annotations

import numpy as np

# Points of a resampled line.
POINTS = 16


def resample(lines):
    """resampled[line, point, x y]: points at equal steps along each line."""
    out = np.empty((len(lines), POINTS, 2))
    for i, point in enumerate(lines):
        along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(point, axis=0), axis=1))])
        at = np.linspace(0.0, along[-1], POINTS)
        out[i] = np.column_stack([np.interp(at, along, point[:, axis]) for axis in (0, 1)])
    return out


def pixels_apart(a, b):
    """Mean distance of the points of lines a from those of lines b, whichever end each was begun at."""
    same, turned = (np.linalg.norm(a - other, axis=-1).mean(axis=-1) for other in (b, b[..., ::-1, :]))
    return np.minimum(same, turned)


def distances(a, b):
    """The same as a share of the mean length of both, 0 to 1."""
    length = [np.linalg.norm(np.diff(line, axis=-2), axis=-1).sum(axis=-1) for line in (a, b)]
    apart, mean = pixels_apart(a, b), (length[0] + length[1]) / 2
    return np.where(apart > 0, np.minimum(apart / np.where(mean > 0, mean, 1e-300), 1.0), 0.0)


def in_one_direction(lines):
    """Lines turned so that each begins near where the first one begins."""
    if not len(lines):
        return lines
    first = lines[:1]
    turned = lines[:, ::-1]
    nearer = np.linalg.norm(turned - first, axis=-1).mean(-1) < np.linalg.norm(lines - first, axis=-1).mean(-1)
    return np.where(nearer[:, None, None], turned, lines)


def weighted_median(lines, weight):
    """The weighted median of each coordinate of each point; the mean of both middle values where they tie."""
    order = np.argsort(lines, axis=0, kind="stable")
    values = np.take_along_axis(lines, order, axis=0)
    below = np.cumsum(weight[order], axis=0)
    half = below[-1] / 2
    low = np.take_along_axis(values, (below >= half - 1e-12).argmax(axis=0)[None], axis=0)[0]
    high = np.take_along_axis(values, (below > half + 1e-12).argmax(axis=0)[None], axis=0)[0]
    return (low + high) / 2
