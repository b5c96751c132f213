"""The command line: one file per command, each parses, calls the library and prints.

Data goes to stdout, talk to stderr. Exit code 0: fine; 2: the user can fix it, said in one line; 1: a bug of ours.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer

from .. import __version__
from ..core.errors import CrowdwiseError, CrowdwiseWarning
from .terminal import clean

# Each command's function, in the order of --help. A module is imported when its command is asked for: the options of
# all of them together take longer to set up than most commands take to run.
COMMANDS = {
    "demo": "demo:demo",
    "inspect": "inspect:inspect",
    "aggregate": "aggregate:aggregate",
    "evaluate": "evaluate:evaluate",
    "compare": "compare:compare",
    "estimate": "guarantee.estimate:estimate",
    "accept": "guarantee.accept:accept",
    "fair": "guarantee.fair:fair",
    "train": "training.train:train",
    "predict": "training.predict:predict",
    "methods": "methods:methods",
    "show": "show:show",
    "workers": "workers:workers",
    "judges": "judges.command:judges",
    "report": "report:report",
    "next": "live.next:next_",
    "judge": "live.judge:judge",
    "project": "live.project:project",
    "serve": "live.serve:serve",
    "simulate": "simulate:simulate",
    "convert": "convert:convert",
}


def app_of(names: Iterable[str]) -> typer.Typer:
    """The command line with these commands."""
    made = typer.Typer(
        name="crowdwise",
        help="From what many fallible people (or models) said to what is true, and whom to trust.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Start with: crowdwise demo",
        callback=_common,
    )
    for name in names:
        module, _, function = COMMANDS[name].partition(":")
        found = getattr(import_module(f"{__name__}.{module}"), function)
        if isinstance(found, typer.Typer):  # a command of commands
            made.add_typer(found, name=name)
        else:
            made.command(name)(found)
    return made


def __getattr__(name: str) -> Any:
    """`app`: the whole command line, for tests and docs."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = made = app_of(COMMANDS)
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), "app"})


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"crowdwise {__version__}")
        raise typer.Exit


def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main(arguments: list[str] | None = None) -> None:
    """The entry point: every fault of the user's becomes one line on stderr and exit code 2."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    try:
        given = sys.argv[1:] if arguments is None else arguments
        first = given[:1]
        wanted = first if first and (first[0] in COMMANDS or first == ["--version"]) else COMMANDS
        code = app_of(name for name in wanted if name in COMMANDS)(args=given, standalone_mode=False)
        sys.stdout.flush()
    except CrowdwiseError as error:
        _fail(str(error))
    except BrokenPipeError:  # `crowdwise aggregate votes.csv | head` is no error
        sys.stderr.close()
        sys.exit(0)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", 130)
    except OSError as error:  # a full disk, too many open files: the system's no, not a fault of the program
        _close_stdout()
        _fail(f"{error.filename or 'standard output'}: {error.strerror or error}")
    except MemoryError as error:
        _fail(f"there is not enough memory for this ({error}); take fewer classes or workers, or a smaller file")
    except Exception as error:
        # typer's own complaints (unknown option, missing argument) know how to say themselves.
        say = getattr(error, "format_message", None)
        if say is None:
            raise
        _fail(f"{say()} Try crowdwise --help")
    sys.exit(code if isinstance(code, int) else 0)


def _close_stdout() -> None:
    """What could not be written is not tried again when the program ends."""
    with suppress(OSError, ValueError):
        sys.stdout.close()


def _fail(message: str, code: int = 2) -> None:
    sys.stderr.write(f"crowdwise: {clean(' '.join(message.split()))}\n")
    sys.exit(code)


def _show_warning(message: Any, category: Any, *rest: Any) -> None:
    if issubclass(category, CrowdwiseWarning):
        sys.stderr.write(f"crowdwise: note: {clean(str(message))}\n")
    else:
        sys.stderr.write(warnings.formatwarning(message, category, rest[0], rest[1]))
