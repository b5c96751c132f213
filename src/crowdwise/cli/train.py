"""crowdwise train: features and votes to a net (a classifier, or for numbers a regressor), and its tables."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Force, Json, Params, Votes, parse_pairs
from .terminal import naming, print_json, print_table, say, tell_ledger
from .vote_options import USUAL, Asked, reads_votes

if TYPE_CHECKING:
    from ..kinds.classes.annotations import Annotations
    from ..learn.classifier import CrowdClassifier
    from ..learn.regressor import CrowdRegressor

FILES = ("classifier.json", "regressor.json", "model.safetensors", "rows.parquet", "history.csv")
CHECKPOINTS = "checkpoints"
DEFAULTS = {"classes": "max_mig", "numbers": "gaussian_net"}
Features = Annotated[
    Path,
    typer.Argument(
        help="Features: .npz with arrays task and x, .npy in the order of the sorted tasks, or .parquet with a column "
        "task.",
        metavar="FEATURES",
        show_default=False,
    ),
]


@reads_votes
def train(
    features: Features,
    votes: Votes,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for everything.", show_default=False)],
    method: Annotated[
        str | None,
        typer.Option(
            "-m",
            "--method",
            help="See: crowdwise methods. By default max_mig, for numbers gaussian_net.",
            show_default=False,
        ),
    ] = None,
    param: Params = None,
    net: Annotated[str, typer.Option("--net", help="linear, mlp, cnn, vgg16, resnet18 or resnet50.")] = "mlp",
    epochs: Annotated[int | None, typer.Option("--epochs", min=1, help="By default the method's own.")] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size", min=1, help="Tasks in a step.")] = None,
    lr: Annotated[float | None, typer.Option("--lr", help="Learning rate of the net.")] = None,
    validation: Annotated[
        float,
        typer.Option("--validation", help="Share of the tasks whose labels choose the epoch; 0 for the last one."),
    ] = 0.15,
    patience: Annotated[
        int | None, typer.Option("--patience", min=1, help="Stop after so many epochs without a better one.")
    ] = None,
    balance: Annotated[
        bool, typer.Option("--balance", help="Weigh tasks so that every class counts the same.")
    ] = False,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda, cuda:1, mps ...")] = "cpu",
    asked: Asked = USUAL,
    seed: Annotated[
        int, typer.Option("--seed", help="Draws weights, batches, held-out tasks.", metavar="N", min=0)
    ] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")] = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Train a net on features and raw votes, jointly with a model of every worker.

    Writes the net and labels.csv, workers.csv, confusion.csv (not for numbers), history.csv, ledger.json.
    """
    from ..io.beside import refuse_to_overwrite
    from ..io.run_folder import OWN
    from ..learn.feeding.features import read_features

    annotations: Any = None if method else asked.read(votes).annotations
    method = method or default_for(annotations, votes)
    params = learner_params(method, param)
    of_numbers = takes(method) == "numbers"
    refuse_to_overwrite(output, FILES + OWN, force)
    if not resume:
        shutil.rmtree(output / CHECKPOINTS, ignore_errors=True)
    tasks, x = read_features(features)
    if annotations is None:
        annotations = asked.read(votes).annotations
    refuse_other_kind(method, annotations, votes)
    how = {
        "params": params, "epochs": epochs, "batch_size": batch_size, "lr": lr, "validation": validation,
        "patience": patience, "device": device, "folder": output / CHECKPOINTS, "resume": resume, "seed": seed,
    }  # fmt: skip
    estimator = make(net, method, how, balance=balance)
    tell_ledger(annotations.ledger)
    watch(estimator)
    with naming(features, votes):
        estimator.fit(x, annotations, tasks=tasks)
    if of_numbers:
        from . import train_numbers as numbers

        numbers.write(estimator, annotations, output, CHECKPOINTS)
        said = numbers.summary(estimator, annotations, output)
    else:
        write(estimator, annotations, output)
        said = summary(estimator, annotations, output)
    if json:
        print_json(said)
    elif of_numbers:
        numbers.tell(estimator, annotations, output)
    else:
        tell(estimator, annotations, output)


def takes(method: str) -> str:
    """The kind of votes that a training method takes."""
    from ..aggregate.registry import learner

    return learner(method).takes


def default_for(votes: Any, where: str) -> str:
    """The method for a kind of votes; one line where the command has none."""
    from ..core.errors import DataError

    found = votes.answers.kind
    if found not in DEFAULTS:
        raise DataError(
            f"{where} was read as {found}; this command trains on {' and '.join(DEFAULTS)}. In Python, crowdwise.learn "
            "has CrowdRanker for comparisons, CrowdTagger for spans, CrowdClusterer for similarities"
        )
    return DEFAULTS[found]


def refuse_other_kind(method: str, votes: Any, where: str) -> None:
    """One line where the file holds another kind of votes than the method takes."""
    from ..core.errors import DataError

    wanted, found = takes(method), votes.answers.kind
    if wanted != found:
        other = f"; -m {DEFAULTS[found]} takes {found}" if found in DEFAULTS else ""
        more = "" if wanted == "classes" else "; name their column value, or say --kind numbers"
        raise DataError(f"{where} was read as {found}, {method} takes {wanted}{more}{other}")


def make(net: str, method: str, how: dict[str, Any], *, balance: bool) -> Any:
    """The estimator for the kind of votes that the method takes."""
    from ..core.errors import ParameterError
    from ..learn import CrowdClassifier, CrowdRegressor

    if takes(method) == "classes":
        return CrowdClassifier(net, method, balance=balance, **how)
    if balance:
        raise ParameterError(f"--balance is for classes; {method} takes numbers")
    return CrowdRegressor(net, method, **how)


def learner_params(method: str, given: list[str] | None) -> dict[str, Any]:
    """name=value pairs for a training method; confusion=DIR takes the matrices of a saved result."""
    from ..aggregate.registry import LEARNERS, card, learner
    from ..core.errors import ParameterError
    from ..core.result import Result

    if method not in LEARNERS:
        try:
            card(method)
        except ParameterError:
            learner(method)  # says which name is near
        raise ParameterError(f"{method} aggregates votes without features; use: crowdwise aggregate -m {method}")
    from ..learn.classifier import method_class, method_parameters

    parsed = parse_pairs(method, given, method_parameters(method_class(method)))
    for name in parsed:
        if name == "confusion":
            parsed[name] = Result.load(Path(parsed[name]))
    if method == "known_confusion" and "confusion" not in parsed:
        raise ParameterError("known_confusion needs -p confusion=DIR, a folder with a result that has confusions")
    return parsed


def watch(classifier: CrowdClassifier | CrowdRegressor) -> None:
    """A bar on stderr while it trains, when somebody is looking."""
    if sys.stderr.isatty():
        from ..learn.classifier import method_class
        from ..learn.training.callbacks import Progress

        epochs = classifier.epochs or method_class(classifier.method).defaults.epochs
        classifier.callbacks = (Progress(epochs, classifier.method),)


def write(fitted: CrowdClassifier, annotations: Annotations, output: Path) -> None:
    """The classifier, the tables, the history; checkpoints are of no more use."""
    from ..learn.store import save

    save(fitted, output, force=True, votes=annotations)
    shutil.rmtree(output / CHECKPOINTS, ignore_errors=True)


def summary(fitted: CrowdClassifier, annotations: Annotations, output: Path) -> dict[str, Any]:
    """What --json prints."""
    history = fitted.history_
    return {
        "method": fitted.method,
        "net": fitted.net,
        "params": dict(fitted.result_.params),
        "annotations": len(annotations),
        "tasks": len(fitted.tasks_),
        "workers": annotations.n_workers,
        "classes": annotations.classes.to_list(),
        "features": list(fitted.input_shape_),
        "epochs": len(history),
        "best_epoch": history.best_epoch,
        "stopped_early": history.stopped_early,
        "loss": history["loss"][-1],
        "score": None if history.best_epoch is None else history["score"][history.best_epoch - 1],
        "mean_confidence": fitted.result_.mean_confidence,
        "ledger": annotations.ledger.to_dict(),
        "output": str(output),
    }


def tell(fitted: CrowdClassifier, annotations: Annotations, output: Path) -> None:
    """The short summary for people."""
    history, result = fitted.history_, fitted.result_
    shape = " × ".join(map(str, fitted.input_shape_))
    say(
        f"{len(annotations):,} annotations of {len(fitted.tasks_):,} tasks by {annotations.n_workers:,} workers, "
        f"{annotations.n_classes} classes, features {shape}; {fitted.method} with {fitted.net}"
    )
    if history.best_epoch is None:
        say(f"{len(history)} epochs, loss {history['loss'][0]:.4f} to {history['loss'][-1]:.4f}")
    else:
        score = history["score"][history.best_epoch - 1]
        say(f"{len(history)} epochs; epoch {history.best_epoch} predicts held-out labels best ({score:.4f}): kept")
    from ..scoring.outlook import outlook

    say(outlook(result))
    print_table("Workers, best and worst", *result.kind.door("worker_rows")(result))
    say(f"written to {output}; new tasks: crowdwise predict {output} FEATURES")
