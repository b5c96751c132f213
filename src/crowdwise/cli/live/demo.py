"""crowdwise project demo: simulated annotators label handwritten digits through a real server."""

from __future__ import annotations

import struct
import threading
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..demo import load_digits
from ..options import Seed, option
from ..terminal import info
from .inputs import needs_packages

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ...server.project import Project

DIGITS, GOLD = 300, 20
# Annotators: name, accuracy, and the answer they give when wrong (None: any).
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
    folder: Annotated[Path, typer.Argument(help="New folder, or the folder of an earlier demo.", metavar="DIR")] = Path(
        "live-demo"
    ),
    port: Annotated[int, option("Server", "--port", "Port to listen on.", min=1, max=65_535)] = 8000,
    pace: Annotated[
        float, option("Simulation", "--pace", "Answers per second, of all annotators together.", min=0.1, max=1000)
    ] = 6.0,
    seed: Seed = 0,
) -> None:
    """Serve a project of handwritten digits that simulated annotators label through the API."""
    with needs_packages("the demo needs", "serve,sklearn"):
        from ...server.project import Project
        from ...server.run import run
    truth, pictures = _digits(seed)
    if not (folder / "project.json").exists():
        _make(folder, truth, pictures)
    with Project(folder) as project:
        tokens = {name: _token(project, name) for name in CROWD}
    url = f"http://127.0.0.1:{port}"
    info(f"{len(CROWD)} simulated annotators label {DIGITS} digits, {pace:g} answers per second. Pages (Ctrl-C stops):")
    info(f"  {url}/p/main/lead        live page of the lead")
    info(f"  {url}/p/main/annotate    label some yourself, under any name")
    info(f"  {url}/projects/main/report    the report as of now")
    crowd = threading.Thread(target=_label, args=(url, tokens, truth, pace, seed), daemon=True)
    crowd.start()
    run(folder, "127.0.0.1", port, insecure_local=True)


def _digits(seed: int) -> tuple[dict[str, int], dict[str, npt.NDArray[np.float64]]]:
    """Return the true digit and the image (0 to 1, eight by eight) of each task."""
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
        payload = {"image": f"/media/{name}.png", "alt": "A handwritten digit"}
        tasks.append({"id": name, "payload": payload, "gold": str(truth[name]) if i < GOLD else None})
    with Project(folder) as project:
        load_tasks(project, tasks)


def _token(project: Project, name: str) -> str:
    """Return a token of a worker, new or existing."""
    from ...server.auth import issue
    from ...server.commands.manage import add_worker

    def command(batch: Any) -> str:
        code = batch.live.crowd.worker_code.get(name)
        worker = add_worker(batch, name, "human") if code is None else code
        return issue(batch, "annotate", worker, "demo")[1]

    token: str = project.queue.do(command)
    return token


def _label(url: str, tokens: dict[str, str], truth: dict[str, int], pace: float, seed: int) -> None:
    """Answer until there are no more tasks; retry what the server refuses, such as during a pause."""
    import numpy as np

    from ...client.problems import ServerProblem, Unreachable
    from ...client.project import Project

    rng = np.random.default_rng(seed)
    crowd = {name: Project(url, token) for name, token in tokens.items()}
    while True:
        time.sleep(rng.exponential(1 / pace))
        name = str(rng.choice(list(crowd)))
        accuracy, fixed_answer = CROWD[name]
        try:
            for task in crowd[name].next().tasks:
                wrong = int(rng.integers(10)) if fixed_answer is None else fixed_answer
                answer = truth[task.id] if rng.random() < accuracy else wrong
                crowd[name].answer(task, str(answer), ms=int(rng.gamma(4, 400)))
        except (ServerProblem, Unreachable):
            time.sleep(0.5)


def png(look: npt.NDArray[np.float64], times: int = 20) -> bytes:
    """Return a greyscale PNG, dark on white, enlarged and smoothed."""
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
