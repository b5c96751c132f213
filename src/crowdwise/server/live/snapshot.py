"""Snapshots: the whole live state in one file, so that a start need not read the log from its beginning.

A snapshot is a shortcut and nothing else: where it is missing, broken or of another project, the log is replayed.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...active import OnlineModel, Session
from ...active.stopping import Progress
from ..config import Config
from .crowd import Crowd
from .leases import Leases
from .state import Live

FORMAT, NAME = 1, "state.npz"
Arrays = dict[str, npt.NDArray[Any]]
_PLAIN = ("last", "at", "surplus", "skips", "stopped", "refit", "refit_n", "refit_at", "based")


def take(live: Live, uid: str) -> Arrays:
    """A copy of the state as named arrays; what is no array stands in one text of JSON."""
    session, board = live.session, live.session.board
    undoable = session.model._undoable
    plain: dict[str, Any] = {name: getattr(live, name) for name in _PLAIN}
    plain |= {
        "format": FORMAT,
        "uid": uid,
        "config": live.config.to_dict(),
        "crowd": live.crowd.to_dict(),
        "gold": list(live.gold.items()),
        "touched": sorted(live.touched),
        "minutes": list(live.minutes.items()),
        "spent": session.spent,
        "skipped": list(session.skipped.items()),
        "paused": list(session.paused.items()),
        "lifted": sorted(session.lifted),
        "recent": list(session.recent),
        "progress": [board.progress.n_tasks, board.progress.right, board.progress.spread],
        "flips": [int(each) for each in board.flips.last],
        "temperature": board.temperature,
        "empty": sorted(board.empty),
        "undoable": undoable and [*undoable[:2], None if undoable[2] is None else undoable[2].tolist(), undoable[3]],
    }
    out: Arrays = {f"model_{name}": array for name, array in session.model.snapshot().items()}
    out |= {"believed": board.believed.copy(), "reason": board.reason.copy()}
    out |= {f"settled_{name}": array for name, array in (live.settled or {}).items()}
    return out | {"plain": np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8)}


def save(arrays: Arrays, folder: Path) -> None:
    """Write a snapshot beside the last one, then in its place."""
    folder.mkdir(exist_ok=True)
    beside = folder / f"{NAME}.{os.getpid()}"
    with beside.open("wb") as out:
        np.savez(out, **arrays)  # type: ignore[arg-type]
        out.flush()
        os.fsync(out.fileno())
    beside.replace(folder / NAME)


def load(folder: Path, uid: str) -> Live | None:
    """The state of the last snapshot; None where there is none that can be used."""
    try:
        with np.load(folder / NAME, allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
        plain = json.loads(arrays["plain"].tobytes())
        if plain["format"] != FORMAT or plain["uid"] != uid:
            return None
        return _restored(arrays, plain)
    except (OSError, ValueError, KeyError, TypeError, IndexError, zipfile.BadZipFile, EOFError):
        return None


def _restored(arrays: Arrays, plain: dict[str, Any]) -> Live:
    live = Live(Config.of(plain["config"]))
    for name in _PLAIN:
        setattr(live, name, plain[name])
    live.crowd = Crowd.of(plain["crowd"])
    live.gold = dict(plain["gold"])
    live.touched, live.minutes = set(plain["touched"]), dict(plain["minutes"])
    model = OnlineModel.restore({k.removeprefix("model_"): v for k, v in arrays.items() if k.startswith("model_")})
    if plain["undoable"] is not None:
        task, worker, before, earlier = plain["undoable"]
        model._undoable = (task, worker, None if before is None else np.array(before), earlier)
    config = live.config
    live.session = Session(model, config.asks_by, stop=config.stopping, settings=config.settings, seed=config.seed)
    live.leases = Leases(live.session)
    _restore_session(live.session, live, plain, arrays)
    kept = {k.removeprefix("settled_"): v for k, v in arrays.items() if k.startswith("settled_")}
    live.settled = kept or None
    return live


def _restore_session(session: Session, live: Live, plain: dict[str, Any], arrays: Arrays) -> None:
    board = session.board
    session.costs = {code: each.cost for code, each in enumerate(live.crowd.workers)}
    session.gold, session.spent = sorted(live.gold), plain["spent"]
    session.skipped, session.paused = dict(plain["skipped"]), dict(plain["paused"])
    session.lifted, session.recent = set(plain["lifted"]), deque(plain["recent"], maxlen=session.recent.maxlen)
    board.believed, board.reason = arrays["believed"].copy(), arrays["reason"].copy()
    board.temperature, board.empty = plain["temperature"], set(plain["empty"])
    board.progress = Progress(*plain["progress"])
    for each in plain["flips"]:
        board.flips.add(bool(each))
    board.levels.fill(board._levels(np.arange(len(board.reason))))
