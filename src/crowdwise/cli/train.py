"""crowdwise train: features and votes to a classifier, and to all that aggregate writes."""

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
    from ..kinds.classes import Annotations
    from ..learn.classifier import CrowdClassifier

FILES = ("classifier.json", "model.safetensors", "rows.parquet", "history.csv")
CHECKPOINTS = "checkpoints"
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
    method: Annotated[str, typer.Option("-m", "--method", help="See: crowdwise methods")] = "max_mig",
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
    """Train a classifier on features and raw votes, jointly with a model of every worker.

    Writes the classifier and labels.csv, workers.csv, confusion.csv, history.csv, ledger.json.
    """
    from ..io.beside import refuse_to_overwrite
    from ..io.run_folder import OWN
    from ..learn import CrowdClassifier
    from ..learn.feeding.features import read_features

    params = learner_params(method, param)
    refuse_to_overwrite(output, FILES + OWN, force)
    if not resume:
        shutil.rmtree(output / CHECKPOINTS, ignore_errors=True)
    tasks, x = read_features(features)
    annotations = asked.read(votes).annotations
    tell_ledger(annotations.ledger)
    classifier = CrowdClassifier(
        net, method, params=params, epochs=epochs, batch_size=batch_size, lr=lr, validation=validation,
        patience=patience, balance=balance, device=device, folder=output / CHECKPOINTS, resume=resume, seed=seed,
    )  # fmt: skip
    watch(classifier)
    with naming(features, votes):
        classifier.fit(x, annotations, tasks=tasks)
    write(classifier, annotations, output)
    if json:
        print_json(summary(classifier, annotations, output))
    else:
        tell(classifier, annotations, output)


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


def watch(classifier: CrowdClassifier) -> None:
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
