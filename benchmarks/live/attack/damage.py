"""Damaged snapshots: none is used, and none stops a start."""

from __future__ import annotations

import random

from crowdwise.server.commands import annotate
from crowdwise.server.live.snapshot import NAME, Unusable, load
from crowdwise.server.project import Project
from crowdwise.server.store.log import digest

from .served import folder, project_in


def measure(n=1_500, seed=0):
    """What became of so many damaged copies of a snapshot."""
    dice = random.Random(seed)
    found = {"damaged": 0, "used": 0, "errors": 0, "discarded": 0}
    with folder() as path:
        project_in(path, workers=3)
        with Project(path) as project:
            for i in range(60):
                said = annotate.Submission(f"t{i}", "abc"[i % 3], f"k{i}", "b", trusted=True)
                project.queue.do(lambda s, i=i, said=said: annotate.label(s, i % 3, said))
            project.snapshot()
            file = path / "snapshots" / NAME
            whole = file.read_bytes()
            with project.database.reader.connect() as connection:
                while found["damaged"] < n:
                    data = damaged(whole, dice)
                    if data == whole:
                        continue
                    file.write_bytes(data)
                    found["damaged"] += 1
                    try:
                        load(file.parent, project.uid, lambda number: digest(connection, "main", number))
                        found["used"] += 1
                    except Unusable:
                        found["discarded"] += 1
                    except Exception:
                        found["errors"] += 1
    return found


def damaged(data, dice):
    """A copy with flipped bits, a part cut off, zeroed, repeated or replaced by noise."""
    out = bytearray(data)
    at, length = dice.randrange(len(out)), dice.choice((1, 1, 4, 64, 512, 4_096))
    kind = dice.randrange(6)
    if kind == 0:
        out[at] ^= 1 << dice.randrange(8)
    elif kind == 1:
        del out[at:]
    elif kind == 2:
        out[at : at + length] = bytes(len(out[at : at + length]))
    elif kind == 3:
        out[at : at + length] = dice.randbytes(len(out[at : at + length]))
    elif kind == 4:
        out[at:at] = out[at : at + length]
    else:
        del out[at : at + length]
    return bytes(out)
