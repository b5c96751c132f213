"""Checkpoints: tensors as safetensors, everything else as JSON. No pickle, so that a file cannot run code."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.optim import Optimizer

from ...core.errors import TrainingError

FORMAT = 2


def write(folder: Path, name: str, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write NAME.safetensors and NAME.json atomically, the JSON last, so that the tensors are complete by then."""
    folder.mkdir(parents=True, exist_ok=True)
    stamp = f"{os.getpid()}-{facts.get('epoch', 0)}-{facts.get('step', 0)}"
    fresh = f"{name}-{stamp}.safetensors"
    save_tensors(tensors, folder / fresh)
    draft = folder / f".{name}.json"
    draft.write_text(json.dumps({"format": FORMAT, "tensors": fresh, **facts}), encoding="utf-8")
    os.replace(draft, folder / f"{name}.json")
    for old in folder.glob(f"{name}-*.safetensors"):
        if old.name != fresh:
            old.unlink(missing_ok=True)


def read(folder: Path, name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write` wrote."""
    try:
        facts = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        if facts["format"] != FORMAT:
            raise TrainingError(f"{folder}/{name}.json has format {facts['format']}; this version reads {FORMAT}")
        return load_file(str(folder / Path(facts["tensors"]).name)), facts
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise TrainingError(f"{folder}: there is no readable checkpoint {name!r} ({error})") from None


def save_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Save tensors by name; as copies, because the format refuses tensors that share memory (tied layers)."""
    plain = {key: value.detach().cpu().clone(memory_format=torch.contiguous_format) for key, value in tensors.items()}
    save_file(plain, str(path))


def optimizer_state(optimizers: list[Optimizer]) -> tuple[dict[str, Tensor], list[Any]]:
    """The optimizers' tensors by name, and the rest of their state for JSON."""
    tensors: dict[str, Tensor] = {}
    facts = []
    for number, optimizer in enumerate(optimizers):
        state = optimizer.state_dict()
        scalars: dict[str, dict[str, Any]] = {}
        for index, slots in state["state"].items():
            for slot, value in slots.items():
                if isinstance(value, Tensor):
                    tensors[f"optimizer.{number}.{index}.{slot}"] = value
                else:
                    scalars.setdefault(str(index), {})[slot] = value
        facts.append({"groups": state["param_groups"], "rest": scalars})
    return tensors, facts


def restore_optimizers(optimizers: list[Optimizer], tensors: Mapping[str, Tensor], facts: list[Any]) -> None:
    """Restore what `optimizer_state` returned."""
    if len(optimizers) != len(facts):
        raise TrainingError(f"the checkpoint has {len(facts)} optimizers, this run has {len(optimizers)}")
    for number, (optimizer, fact) in enumerate(zip(optimizers, facts, strict=True)):
        state: dict[int, dict[str, Any]] = {int(i): dict(slots) for i, slots in fact["rest"].items()}
        start = f"optimizer.{number}."
        for name, value in tensors.items():
            if name.startswith(start):
                index, _, slot = name.removeprefix(start).partition(".")
                state.setdefault(int(index), {})[slot] = value
        optimizer.load_state_dict({"state": state, "param_groups": fact["groups"]})


def part(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose name begins with the prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def random_state(device: torch.device) -> Tensor:
    """The state of the random generators of a step: that of the CPU, then that of the device."""
    host = torch.get_rng_state()
    return torch.cat([host, torch.cuda.get_rng_state(device)]) if device.type == "cuda" else host


def set_random_state(state: Tensor, device: torch.device) -> None:
    """Restore what `random_state` returned."""
    n = len(torch.get_rng_state())
    torch.set_rng_state(state[:n].cpu())
    if device.type == "cuda":
        torch.cuda.set_rng_state(state[n:].cpu(), device)
