"""How much boxes overlap."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]


def area(box: F8) -> F8:
    """Area of boxes [..., x1 y1 x2 y2]; 0 where the corners are the other way round."""
    return np.asarray(np.prod(np.maximum(box[..., 2:] - box[..., :2], 0.0), axis=-1))


def iou(a: F8, b: F8) -> F8:
    """Intersection over union of boxes row by row; boxes without area overlap with nothing."""
    corners = np.concatenate([np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])], axis=-1)
    both = area(corners)
    union = area(a) + area(b) - both
    return np.divide(both, union, out=np.zeros_like(both), where=union > 0)
