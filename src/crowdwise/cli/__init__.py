"""The command line: one module per command, which parses its options, calls the library and prints the result.

Data goes to stdout, messages to stderr. Exit codes: 0 success, 2 an error that the user can fix (one line on stderr),
1 a bug in crowdwise.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from inspect import getdoc
from typing import Annotated, Any

import typer

from .. import __version__
from ..core.errors import CrowdwiseError, CrowdwiseWarning
from .renamed import command_hint, option_hint
from .terminal import clean

# The commands in the panels and the order of --help, as module:function. A module is imported only for its own
# command: building the options of all commands takes longer than most commands run.
PANELS = {
    "Aggregate labels": {
        "inspect": "inspect:inspect",
        "aggregate": "aggregate:aggregate",
        "compare": "compare:compare",
        "methods": "methods:methods",
        "show": "show:show",
        "report": "report:report",
    },
    "Evaluate and guarantee": {
        "evaluate": "evaluate:evaluate",
        "estimate": "guarantee.estimate:estimate",
        "accept": "guarantee.accept:accept",
        "certify": "guarantee.certify:certify",
        "gate": "guarantee.gate:gate",
        "fairness": "guarantee.fairness:fairness",
    },
    "Workers": {
        "workers": "workers:workers",
        "judges": "judges:judges",
        "variance": "variance:variance",
    },
    "Run labelling": {
        "next": "live.next:next_",
        "judge": "live.judge:judge",
        "project": "live.project:project",
        "serve": "live.serve:serve",
    },
    "Train": {
        "train": "training.train:train",
        "predict": "training.predict:predict",
    },
    "Simulate and convert data": {
        "demo": "demo:demo",
        "simulate": "simulate:simulate",
        "convert": "convert:convert",
    },
}
COMMANDS = {name: target for commands in PANELS.values() for name, target in commands.items()}
_PANEL_OF = {name: panel for panel, commands in PANELS.items() for name in commands}


def app_of(names: Iterable[str]) -> typer.Typer:
    """Return the command line with these commands."""
    app = typer.Typer(
        name="crowdwise",
        help="Turn labels from many imperfect annotators into reliable labels, calibrated confidence and annotator "
        "quality.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Start with: crowdwise demo",
        callback=_common,
    )
    for name in names:
        module, _, function = COMMANDS[name].partition(":")
        command = getattr(import_module(f"{__name__}.{module}"), function)
        panel = _PANEL_OF[name]
        if isinstance(command, typer.Typer):  # a group of subcommands
            app.add_typer(command, name=name, rich_help_panel=panel)
        else:
            app.command(name, help=help_of(command), rich_help_panel=panel)(command)
    return app


def help_of(command: Any) -> str:
    """Return the docstring of a command with each paragraph on one line, to be wrapped at the terminal's width."""
    paragraphs = re.split(r"\n\s*\n", getdoc(command) or "")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def __getattr__(name: str) -> Any:
    """`app`: the whole command line, for tests and docs."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = app = app_of(COMMANDS)
    return app


def __dir__() -> list[str]:
    return sorted({*globals(), "app"})


def _version(show: bool) -> None:
    if show:
        typer.echo(f"crowdwise {__version__}")
        raise typer.Exit


def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: an error that the user can fix becomes one line on stderr and exit code 2."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    try:
        argv = sys.argv[1:] if arguments is None else arguments
        first = argv[:1]
        hint = command_hint(first[0]) if first else None
        if hint is not None:
            _fail(hint)
        names = first if first and (first[0] in COMMANDS or first == ["--version"]) else COMMANDS
        code = app_of(name for name in names if name in COMMANDS)(args=argv, standalone_mode=False)
        sys.stdout.flush()
    except CrowdwiseError as error:
        _fail(str(error))
    except BrokenPipeError:  # `crowdwise aggregate votes.csv | head` is no error
        sys.stderr.close()
        sys.exit(0)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", 130)
    except OSError as error:  # a full disk or too many open files, not a bug
        _close_stdout()
        _fail(f"{error.filename or 'standard output'}: {error.strerror or error}")
    except MemoryError as error:
        _fail(f"there is not enough memory ({error}); use fewer classes or workers, or a smaller file")
    except Exception as error:
        # Errors of typer (unknown option, missing argument) format their own message.
        format_message = getattr(error, "format_message", None)
        if format_message is None:
            raise
        _fail(_option_hint(error) or f"{format_message()} Try crowdwise --help")
    sys.exit(code if isinstance(code, int) else 0)


def _option_hint(error: Any) -> str | None:
    """Return the hint for an unknown option that has been renamed, or None."""
    context = getattr(error, "ctx", None)
    option = getattr(error, "option_name", None)
    return None if context is None or option is None else option_hint(context.info_name, option)


def _close_stdout() -> None:
    """Close stdout, so that the interpreter does not try to flush it again on exit."""
    with suppress(OSError, ValueError):
        sys.stdout.close()


def _fail(message: str, code: int = 2) -> None:
    sys.stderr.write(f"crowdwise: {clean(' '.join(message.split()))}\n")
    sys.exit(code)


def _show_warning(message: Any, category: Any, *location: Any) -> None:
    if issubclass(category, CrowdwiseWarning):
        sys.stderr.write(f"crowdwise: note: {clean(str(message))}\n")
    else:
        sys.stderr.write(warnings.formatwarning(message, category, location[0], location[1]))
