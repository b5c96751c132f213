"""Types of numpy arrays for annotations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
