"""crowdwise project demo: handwritten digits, simulated annotators who drive the real server, pages to look at."""

from __future__ import annotations

import struct
import threading
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import MissingDependencyError
from ..demo import load_digits
from ..options import Seed
from ..terminal import say

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ...server.project import Project

DIGITS, GOLD = 300, 20
# Who comes: a name, how often they are right, and what they say otherwise (None: anything).
CROWD = {
    "Ada": (0.97, None), "Ben": (0.94, None), "Chloé": (0.92, None), "Dmitri": (0.9, None), "Emeka": (0.88, None),
    "Farah": (0.8, None), "Gus": (0.7, None), "Hurried": (0.45, None), "Always one": (0.0, 1), "Dice": (0.1, None),
}  # fmt: skip
GUIDELINES = """# What to do
Say which digit is drawn. The pictures are small and blurred: *guess the likeliest one*.

* A **1** may have a foot, a **7** a bar.
* Skip a picture if you cannot see anything at all.
"""


def demo(
    folder: Annotated[Path, typer.Argument(help="A new folder, or one of an earlier demo.", metavar="DIR")] = Path(
        "live-demo"
    ),
    port: Annotated[int, typer.Option("--port", help="The port.", min=1, max=65_535)] = 8000,
    pace: Annotated[float, typer.Option("--pace", help="Answers a second, all together.", min=0.1, max=1000)] = 6.0,
    seed: Seed = 0,
) -> None:
    """Serve a project of handwritten digits that simulated annotators label through the API, and look at its pages."""
    try:
        from ...server.project import Project
        from ...server.run import run
    except ImportError as error:
        raise MissingDependencyError(
            f"the demo needs more packages ({error}): pip install 'crowdwise[serve,sklearn]'"
        ) from error
    truth, pictures = _digits(seed)
    if not (folder / "project.json").exists():
        _make(folder, truth, pictures)
    with Project(folder) as project:
        tokens = {name: _token(project, name) for name in CROWD}
    url = f"http://127.0.0.1:{port}"
    say(f"{len(CROWD)} simulated annotators label {DIGITS} digits, {pace:g} answers a second. Look at (Ctrl-C ends it)")
    say(f"  {url}/p/main/lead        the lead's page, live")
    say(f"  {url}/p/main/annotate    label some yourself, under any name")
    say(f"  {url}/projects/main/report    the report of this moment")
    crowd = threading.Thread(target=_label, args=(url, tokens, truth, pace, seed), daemon=True)
    crowd.start()
    run(folder, "127.0.0.1", port, insecure_local=True)


def _digits(seed: int) -> tuple[dict[str, int], dict[str, npt.NDArray[np.float64]]]:
    """Names of digits to what they are and how they look (0 to 1, eight by eight)."""
    import numpy as np

    digits = load_digits()
    some = np.random.default_rng(seed).permutation(len(digits.target))[:DIGITS]
    names = [f"digit-{i:04}" for i in some]
    looks = digits.images[some] / 16.0
    return dict(zip(names, map(int, digits.target[some]), strict=True)), dict(zip(names, looks, strict=True))


def _make(folder: Path, truth: dict[str, int], pictures: dict[str, npt.NDArray[np.float64]]) -> None:
    from ...server.config import Config
    from ...server.project import Project, create, load_tasks

    classes = tuple(str(digit) for digit in range(10))
    config = Config("Which digit is this?", classes=classes, guidelines=GUIDELINES, cap=6, gold_rate=0.05)
    create(folder, config)
    tasks: list[dict[str, Any]] = []
    for i, (name, look) in enumerate(pictures.items()):
        (folder / "media" / f"{name}.png").write_bytes(png(look))
        shown = {"image": f"/media/{name}.png", "alt": "A handwritten digit"}
        tasks.append({"id": name, "payload": shown, "gold": str(truth[name]) if i < GOLD else None})
    with Project(folder) as project:
        load_tasks(project, tasks)


def _token(project: Project, name: str) -> str:
    """A token of a worker, who is new or was there before."""
    from ...server.acts.manage import add_worker
    from ...server.auth import issue

    def command(shift: Any) -> str:
        known = shift.live.crowd.worker_code.get(name)
        worker = add_worker(shift, name, "human") if known is None else known
        return issue(shift, "annotate", worker, "demo")[1]

    made: str = project.desk.do(command)
    return made


def _label(url: str, tokens: dict[str, str], truth: dict[str, int], pace: float, seed: int) -> None:
    """Answer until there is nothing to ask; what the server refuses (a pause, say) is tried again later."""
    import numpy as np

    from ...client.problems import ServerProblem, Unreachable
    from ...client.project import Project

    rng = np.random.default_rng(seed)
    crowd = {name: Project(url, token) for name, token in tokens.items()}
    while True:
        time.sleep(rng.exponential(1 / pace))
        name = str(rng.choice(list(crowd)))
        right, otherwise = CROWD[name]
        try:
            for task in crowd[name].next().tasks:
                wrong = int(rng.integers(10)) if otherwise is None else otherwise
                said = truth[task.id] if rng.random() < right else wrong
                crowd[name].answer(task, str(said), ms=int(rng.gamma(4, 400)))
        except (ServerProblem, Unreachable):
            time.sleep(0.5)


def png(look: npt.NDArray[np.float64], times: int = 20) -> bytes:
    """A grey picture, dark ink on white, larger and softer than the eight by eight that it was scanned to."""
    import numpy as np
    from scipy.ndimage import zoom

    large = np.clip(zoom(look, times, order=3, mode="nearest", grid_mode=True), 0, 1)
    grey = (255 * (1 - 0.92 * large)).astype(np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in grey)
    head = struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    out = b"\x89PNG\r\n\x1a\n"
    for kind, body in parts:
        out += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return out
