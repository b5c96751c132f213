"""Whether the built packages install and run: `python -m benchmarks.packages [--python EXE]... [--extra NAME]...`.

Builds wheel and sdist, checks them (twine, check-wheel-contents), and installs the wheel into a fresh environment for
every Python and extra. There, away from the repository, it aggregates a simulated crowd and runs `crowdwise demo`. It
also prints what the base install needs on disk, and how long `import crowdwise` takes. Packages come from pip's index.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.data import ROOT

EXTRAS = ("", "sklearn", "plot", "excel")
LARGEST = 6


@dataclass(frozen=True)
class Outcome:
    """What came out of one environment."""

    python: str
    extra: str
    megabytes: float
    first_labels: str
    demo: str

    def row(self) -> str:
        """The row of the table."""
        extra = f"`crowdwise[{self.extra}]`" if self.extra else "`crowdwise`"
        return f"| {self.python} | {extra} | {self.megabytes:.0f} | {self.first_labels} | {self.demo} |"


def run(words: list[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program that sees neither the repository nor the packages of this environment."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run([str(word) for word in words], cwd=folder, env=env, capture_output=True, text=True)


def build(folder: Path) -> Path:
    """Build and check the packages; return the wheel."""
    _must([sys.executable, "-m", "build", "--outdir", folder, ROOT], folder)
    _must([sys.executable, "-m", "twine", "check", "--strict", *sorted(folder.glob("crowdwise*"))], folder)
    wheel = next(folder.glob("*.whl"))
    _must([Path(sys.executable).with_name("check-wheel-contents"), wheel], folder)
    return wheel


def _must(words: list[str | Path], folder: Path) -> None:
    done = run(words, folder)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")


def size(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def try_out(python: str, extra: str, wheel: Path, folder: Path) -> tuple[Outcome, Path]:
    """Install the wheel into a fresh environment and run it there."""
    environment = folder / "environment"
    run([python, "-m", "venv", "--clear", environment], folder)
    bare = size(environment)
    own = environment / "bin" / "python"
    target = f"crowdwise[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    installed = run([own, "-m", "pip", "install", "--quiet", "--no-compile", target], folder)
    version = run([own, "-c", "import platform; print(platform.python_version())"], folder).stdout.strip()
    if installed.returncode:
        return Outcome(version, extra, 0, "install fails: " + _last(installed.stderr), "–"), environment
    megabytes = (size(environment) - bare) / 1e6
    command = environment / "bin" / "crowdwise"
    made = run([command, "simulate", "one_coin", "--tasks", "200", "--seed", "1", "-o", "crowd"], folder)
    labels = run([command, "aggregate", "crowd/labels.csv", "-o", "run", "--force"], folder)
    demo = run([command, "demo", "-o", "demo", "--force"], folder)
    first = "runs" if made.returncode == labels.returncode == 0 else _last(made.stderr + labels.stderr)
    shown = "runs" if demo.returncode == 0 else f"exit {demo.returncode}: {_last(demo.stderr)}"
    return Outcome(version, extra, megabytes, first, shown), environment


def _last(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1].replace("|", "\\|")


def parts(environment: Path) -> list[str]:
    """Return rows with the largest packages of an environment."""
    packages = next(environment.glob("lib/python*/site-packages"))
    sizes = {path.name: size(path) / 1e6 for path in packages.iterdir() if path.is_dir()}
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:LARGEST]
    return [f"| `{name}` | {megabytes:.0f} |" for name, megabytes in largest]


def import_time(environment: Path, folder: Path) -> str:
    """Return the CPU seconds of starting Python, and of starting it with the package imported; the best of five."""
    code = "import os{}; t = os.times(); print(t.user + t.system)"
    own = environment / "bin" / "python"
    best = [
        min(float(run([own, "-c", code.format(what)], folder).stdout) for _ in range(5)) for what in ("", ", crowdwise")
    ]
    return f"Starting Python takes {best[0]:.2f} s of CPU, starting it and importing crowdwise {best[1]:.2f} s."


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="a Python interpreter; by default this one")
    parser.add_argument("--extra", action="append", help="an extra; '' is the base install")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(folder)
        print("# Packages\n`python -m benchmarks.packages` builds wheel and sdist, checks them with twine and")
        print("check-wheel-contents, and installs the wheel into fresh environments.\n")
        print("| Python | install | MB | first labels | `crowdwise demo` |\n|---|---|---|---|---|")
        base: list[str] = []
        for python in options.python or [sys.executable]:
            for extra in options.extra if options.extra is not None else EXTRAS:
                outcome, environment = try_out(python, extra, wheel, folder)
                print(outcome.row(), flush=True)
                if not extra and not base:
                    base = [import_time(environment, folder), "", "| package | MB |", "|---|---|", *parts(environment)]
        print("\n## The base install", *base, sep="\n")


if __name__ == "__main__":
    main()
