"""The command line: one file per command, each parses, calls the library and prints.

Data goes to stdout, talk to stderr. Exit code 0: fine; 2: the user can fix it, said in one line; 1: a bug of ours.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import suppress
from typing import Annotated, Any

import typer

from .. import __version__
from ..core.errors import CrowdwiseError, CrowdwiseWarning
from . import (
    aggregate,
    compare,
    convert,
    demo,
    evaluate,
    inspect,
    methods,
    predict,
    report,
    show,
    simulate,
    train,
    workers,
)
from .guarantee import accept, estimate, fair
from .live import next
from .terminal import clean

app = typer.Typer(
    name="crowdwise",
    help="From what many fallible people (or models) said to what is true, and whom to trust.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: crowdwise demo",
)

app.command("demo")(demo.demo)
app.command("inspect")(inspect.inspect)
app.command("aggregate")(aggregate.aggregate)
app.command("evaluate")(evaluate.evaluate)
app.command("compare")(compare.compare)
app.command("estimate")(estimate.estimate)
app.command("accept")(accept.accept)
app.command("fair")(fair.fair)
app.command("train")(train.train)
app.command("predict")(predict.predict)
app.command("methods")(methods.methods)
app.command("show")(show.show)
app.command("workers")(workers.workers)
app.command("report")(report.report)
app.command("next")(next.next_)
app.command("simulate")(simulate.simulate)
app.command("convert")(convert.convert)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"crowdwise {__version__}")
        raise typer.Exit


@app.callback()
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
        code = app(args=arguments, standalone_mode=False)
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
