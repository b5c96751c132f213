"""What must be the same for a run to be resumed: the data, the method and its parameters, the optimizers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from .feeding.data import CrowdData
from .method import CrowdModel

_ROWS = 64  # of the features, enough to tell one data set from another


def run_facts(
    model: CrowdModel,
    data: CrowdData,
    optimizers: Sequence[Optimizer],
    schedulers: Sequence[Any],
    criterion: Any,
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """The run by names and plain values; tensors and arrays by their checksum. `epochs` and `patience` may change."""
    crowd = data.crowd
    groups = [group for each in optimizers for group in each.param_groups]
    rest = [{k: plain(v) for k, v in sorted(g.items()) if k != "params" and not k.endswith("lr")} for g in groups]
    return {
        "method": model.method.name, **more, "tasks": crowd.n_tasks, "labels": len(crowd), "workers": crowd.n_workers,
        "classes": crowd.n_outputs, "said": checksum(crowd.worker, crowd.label, crowd.weight),
        # A Dataset may draw other rows each time.
        "features": checksum(data.x[:_ROWS]) if isinstance(data.x, Tensor) else None,
        "balance": checksum(data.task_weight),
        "params": {name: plain(value) for name, value in sorted(model.method.given.items())},
        "lr": [float(group["lr"]) for group in groups],
        "optimizers": [type(each).__name__ for each in optimizers], "groups": rest,
        "schedulers": [type(each).__name__ for each in schedulers],
        "criterion": None if criterion is None else getattr(criterion, "kind", type(criterion).__name__),
    }  # fmt: skip


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What differs, in words; nothing where nothing does."""
    if then.get("method") != now["method"]:
        return f"method {then.get('method')}, now {now['method']}"
    found = []
    for name in now:
        if then.get(name) == now[name]:
            continue
        if name == "params":
            old = then.get(name) or {}
            changed = [p for p in now[name] if old.get(p) != now[name][p]]
            found += [f"{p} {old.get(p)}, now {now[name][p]}" for p in changed]
        elif name in ("said", "features", "balance"):
            found.append({"said": "other labels", "features": "other features", "balance": "other weights"}[name])
        elif name == "groups":
            found.append("other settings of the optimizers")
        else:
            found.append(f"{name} {then.get(name)}, now {now[name]}")
    return "; ".join(found)


def plain(value: Any) -> Any:
    """A hyper-parameter as JSON will give it back."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    value = getattr(value, "confusion", value)  # of a Result, its matrices
    if isinstance(value, Tensor | np.ndarray):
        return checksum(torch.as_tensor(value))
    return type(value).__name__


def checksum(*values: Tensor) -> int:
    """One number for some tensors."""
    found = 0
    for value in values:
        found = crc32(np.ascontiguousarray(value.detach().cpu().numpy()).tobytes(), found)
    return found
