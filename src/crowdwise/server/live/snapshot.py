"""Snapshots: the whole live state in one file, so that a start need not replay the whole log.

If the snapshot is missing, damaged, or of another project or log, the log is replayed. The file has a line with the
checksum of the rest, a line of JSON (format, project, last event in the snapshot, hash of the log up to it), and the
arrays.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from sqlalchemy.exc import SQLAlchemyError

from ...active.online import OnlineModel
from ...active.session import Session
from ...active.stopping import Doubt, Progress
from ...stats.gold_calibration import GoldCalibration
from ..config import Config
from .checks import Checks
from .crowd import NameRegister
from .leases import Leases
from .reviews import Reviews
from .state import Live

FORMAT, NAME = 6, "state.npz"
# Bytes that are hashed at once, and the maximum length of the JSON line.
PART, LINE = 1 << 20, 4_096
Arrays = dict[str, npt.NDArray[Any]]
_PLAIN = ("last", "at", "surplus", "skips", "stopped", "refit", "refit_n", "refit_at", "refit_checks", "based")


class Unusable(Exception):
    """A snapshot cannot be used; the message is the reason."""


@dataclass(frozen=True)
class Mark:
    """The origin of a snapshot: the project, the last event, and a hash of the log up to it."""

    uid: str
    last: int
    log: str


def take(live: Live) -> Arrays:
    """A copy of the state as named arrays; all other values are in one JSON text."""
    session, index = live.session, live.session.task_index
    undoable = session.model._undoable
    plain: dict[str, Any] = {name: getattr(live, name) for name in _PLAIN}
    plain |= {
        "config": live.config.to_dict(),
        "crowd": live.crowd.to_dict(),
        "gold": list(live.gold.items()),
        "checks": live.checks.to_dict(),
        "reviews": live.reviews.to_dict(),
        "touched": sorted(live.touched),
        "minutes": list(live.minutes.items()),
        "spent": session.spent,
        "skipped": list(session.skipped.items()),
        "paused": list(session.paused.items()),
        "lifted": sorted(session.floor_exempt),
        "recent": list(session.recent),
        "progress": [index.progress.n_tasks, index.progress.right, index.progress.spread],
        "flips": [int(flip) for flip in index.flips.last],
        "temperature": index.temperature,
        "calibration": index.calibration and asdict(index.calibration),
        "doubt": index.doubt and asdict(index.doubt),
        "empty": sorted(index.exhausted),
        "excluded": sorted(index.excluded),
        "least": list(index.least.items()),
        "undoable": undoable and [*undoable[:2], None if undoable[2] is None else undoable[2].tolist(), undoable[3]],
    }
    out: Arrays = {f"model_{name}": array for name, array in session.model.snapshot().items()}
    out |= {"believed": index.posterior.copy(), "reason": index.reason.copy(), "fitted": index.fitted.copy()}
    out |= {f"settled_{name}": array for name, array in (live.baseline or {}).items()}
    return out | {"plain": np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8)}


def save(arrays: Arrays, mark: Mark, folder: Path) -> None:
    """Write a snapshot to a temporary file, then replace the last one."""
    folder.mkdir(exist_ok=True)
    temporary = folder / f"{NAME}.{os.getpid()}"
    head = {"format": FORMAT, "uid": mark.uid, "last": mark.last, "log": mark.log}
    with temporary.open("w+b") as out:
        out.write(b"0" * 64 + b"\n" + json.dumps(head).encode() + b"\n")
        np.savez(out, **arrays)  # type: ignore[arg-type]
        out.seek(65)
        digest = _digest(out)
        out.seek(0)
        out.write(digest)
        out.flush()
        os.fsync(out.fileno())
    temporary.replace(folder / NAME)


def load(folder: Path, uid: str, log: Callable[[int], str | None]) -> Live | None:
    """The state of the last snapshot, or None. `log(number)` is the hash of the log up to an event. Raises Unusable if
    the snapshot is damaged or does not belong to this log."""
    try:
        with (folder / NAME).open("rb") as file:
            digest = file.readline(65)
            if digest.rstrip(b"\n") != _digest(file):
                raise Unusable("its checksum does not match")
            file.seek(65)
            head = json.loads(file.readline(LINE))
            if head["format"] != FORMAT or head["uid"] != uid:
                raise Unusable("it is of another version or project")
            if log(head["last"]) != head["log"]:
                raise Unusable(f"the log up to event {head['last']} is another one")
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        live = _restored(arrays, json.loads(arrays["plain"].tobytes()))
    except FileNotFoundError:
        return None
    except (Unusable, SQLAlchemyError):
        raise
    except Exception as error:  # any error of damaged content
        raise Unusable(f"it cannot be read: {type(error).__name__} {' '.join(str(error).split())[:80]}") from error
    if live.last != head["last"]:
        raise Unusable("its head and its state do not match")
    return live


def discard(folder: Path) -> None:
    """Delete an unusable snapshot."""
    with contextlib.suppress(OSError):
        (folder / NAME).unlink()


def _digest(file: BinaryIO) -> bytes:
    """The checksum of the rest of the file."""
    digest = hashlib.sha256()
    while part := file.read(PART):
        digest.update(part)
    return digest.hexdigest().encode()


def _restored(arrays: Arrays, plain: dict[str, Any]) -> Live:
    live = Live(Config.of(plain["config"]))
    for name in _PLAIN:
        setattr(live, name, plain[name])
    live.crowd = NameRegister.of(plain["crowd"])
    live.gold, live.checks = dict(plain["gold"]), Checks.of(plain["checks"])
    live.reviews = Reviews.of(plain["reviews"])
    live.touched, live.minutes = set(plain["touched"]), dict(plain["minutes"])
    model = OnlineModel.restore({k.removeprefix("model_"): v for k, v in arrays.items() if k.startswith("model_")})
    if plain["undoable"] is not None:
        task, worker, before, earlier = plain["undoable"]
        model._undoable = (task, worker, None if before is None else np.array(before), earlier)
    config = live.config
    live.session = Session(model, config.asks_by, stop=config.stopping, settings=config.settings, seed=config.seed)
    live.leases = Leases(live.session)
    _restore_session(live.session, live, plain, arrays)
    live.baseline = {k.removeprefix("settled_"): v for k, v in arrays.items() if k.startswith("settled_")} or None
    return live


def _restore_session(session: Session, live: Live, plain: dict[str, Any], arrays: Arrays) -> None:
    index = session.task_index
    session.costs = {code: worker.cost for code, worker in enumerate(live.crowd.workers)}
    session.gold, session.spent = sorted(task for task in live.gold if live.hides_gold(task)), plain["spent"]
    session.skipped, session.paused = dict(plain["skipped"]), dict(plain["paused"])
    session.floor_exempt, session.recent = set(plain["lifted"]), deque(plain["recent"], maxlen=session.recent.maxlen)
    index.posterior, index.reason = arrays["believed"].copy(), arrays["reason"].copy()
    index.temperature, index.exhausted = plain["temperature"], set(plain["empty"])
    index.excluded, index.least = set(plain["excluded"]), dict(plain["least"])
    index.calibration = None if plain["calibration"] is None else GoldCalibration(**plain["calibration"])
    index.doubt = None if plain["doubt"] is None else Doubt(**plain["doubt"])
    index.fitted = arrays["fitted"].copy()
    n_tasks, right, spread = plain["progress"]
    index.progress = Progress(n_tasks, right, spread, doubt=index.doubt)
    for flip in plain["flips"]:
        index.flips.add(bool(flip))
    index.priority_buckets.fill(index._buckets(np.arange(len(index.reason))))
