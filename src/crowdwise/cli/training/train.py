"""crowdwise train: a net trained on features and votes, and its tables."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.options import ReadOptions
from ..options import Force, Json, Params, Votes, parse_pairs
from ..terminal import error_context, print_json, print_ledger
from ..vote_options import DEFAULT_READ_OPTIONS, read_votes, reads_votes
from .trainers import TRAINERS

if TYPE_CHECKING:
    from ...learn.fitting import CrowdEstimator

FILES = (*(trainer.file for trainer in TRAINERS.values()), "model.safetensors", "rows.parquet", "history.csv")
CHECKPOINTS = "checkpoints"
Features = Annotated[
    Path,
    typer.Argument(
        help="Features: .npz with arrays task and x, .npy in the order of the sorted tasks, .parquet "
        "with a column task, or a folder of such files; rows are items for comparisons and "
        "similarities, and tokens for spans.",
        metavar="FEATURES",
        show_default=False,
    ),
]


@reads_votes
def train(
    features: Features,
    votes: Votes,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            help="Folder for the trained net and its tables.",
            show_default=False,
            rich_help_panel="Output",
        ),
    ],
    method: Annotated[
        str | None,
        typer.Option(
            "-m",
            "--method",
            help="Training method (see crowdwise methods); by default max_mig for classes, gaussian_net "
            "for numbers, reward_net for comparisons, similarity_net for similarities and "
            "sequence_layer for spans.",
            show_default=False,
            rich_help_panel="Method",
        ),
    ] = None,
    param: Params = None,
    net: Annotated[
        str,
        typer.Option(
            "--net", help="Network: linear, mlp, cnn, vgg16, resnet18 or resnet50.", rich_help_panel="Training"
        ),
    ] = "mlp",
    epochs: Annotated[
        int | None,
        typer.Option(
            "--epochs", min=1, help="Number of epochs; the method's own by default.", rich_help_panel="Training"
        ),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", min=1, help="Tasks per batch.", rich_help_panel="Training")
    ] = None,
    lr: Annotated[
        float | None, typer.Option("--lr", help="Learning rate of the net.", rich_help_panel="Training")
    ] = None,
    validation: Annotated[
        float,
        typer.Option(
            "--validation",
            help="Share of tasks held out to choose the best epoch; 0 uses the last one.",
            rich_help_panel="Training",
        ),
    ] = 0.15,
    patience: Annotated[
        int | None,
        typer.Option(
            "--patience",
            min=1,
            help="Number of epochs without improvement after which training stops.",
            rich_help_panel="Training",
        ),
    ] = None,
    balance: Annotated[
        bool,
        typer.Option("--balance", help="Weight tasks so that all classes count the same.", rich_help_panel="Training"),
    ] = False,
    clusters: Annotated[
        int | None,
        typer.Option(
            "--clusters",
            min=2,
            help="Number of clusters for similarities; estimated from the answers by default.",
            rich_help_panel="Method",
        ),
    ] = None,
    device: Annotated[
        str, typer.Option("--device", help="Device: cpu, cuda, cuda:1, mps, ...", rich_help_panel="Training")
    ] = "cpu",
    read_options: ReadOptions = DEFAULT_READ_OPTIONS,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            help="Seed for weights, batches and held-out tasks.",
            metavar="N",
            min=0,
            rich_help_panel="Training",
        ),
    ] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run.", rich_help_panel="Training")
    ] = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Train a neural net on features and raw votes, jointly with a model of every worker.

    Writes the net, labels.csv, workers.csv, history.csv, ledger.json, and confusion.csv (classes) or items.csv (items).
    """
    from ...io.atomic import refuse_to_overwrite
    from ...io.run_folder import OWN

    annotations: Any = None if method else read_votes(votes, read_options).annotations
    method = method or default_method_for(annotations, votes)
    params = learner_params(method, param)
    trainer = TRAINERS[votes_kind(method)]
    refuse_to_overwrite(output, FILES + OWN, force)
    if not resume:
        shutil.rmtree(output / CHECKPOINTS, ignore_errors=True)
    inputs = trainer.read_features(features)
    if annotations is None:
        annotations = read_votes(votes, read_options).annotations
    refuse_other_kind(method, annotations, votes)
    options = {
        "params": params, "epochs": epochs, "batch_size": batch_size, "lr": lr, "validation": validation,
        "patience": patience, "device": device, "folder": output / CHECKPOINTS, "resume": resume, "seed": seed,
    }  # fmt: skip
    estimator = trainer.estimator_class()(
        net, method, **options, **options_for_kind(method, {"balance": balance, "clusters": clusters})
    )
    print_ledger(annotations.ledger)
    show_progress(estimator)
    with error_context(features, votes):
        estimator.fit(inputs.pop("X"), annotations, **inputs)
    trainer.save(estimator, output, annotations)
    shutil.rmtree(output / CHECKPOINTS, ignore_errors=True)
    if json:
        print_json(trainer.summary(estimator, annotations, output))
    else:
        trainer.print_summary(estimator, annotations, output)


def votes_kind(method: str) -> str:
    """Return the kind of votes that a training method takes."""
    from ...core.method_registry import learner

    return learner(method).takes


def default_method_for(votes: Any, where: str) -> str:
    """Return the default method for a kind of votes.

    Raises:
        DataError: Nets are not trained on this kind.
    """
    from ...core.errors import DataError

    kind = votes.answers.kind
    if kind not in TRAINERS:
        raise DataError(f"{where} was read as {kind}; nets are trained on {', '.join(TRAINERS)}")
    return TRAINERS[kind].method


def refuse_other_kind(method: str, votes: Any, where: str) -> None:
    """Refuse votes of another kind than the method takes."""
    from ...core.errors import DataError

    expected, kind = votes_kind(method), votes.answers.kind
    if expected != kind:
        other = f"; -m {TRAINERS[kind].method} takes {kind}" if kind in TRAINERS else ""
        more = "; name their column value, or use --kind numbers" if expected == "numbers" else ""
        raise DataError(f"{where} was read as {kind}, but {method} takes {expected}{more}{other}")


def options_for_kind(method: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the given options, refusing those that only another kind of votes has."""
    from ...core.errors import ParameterError

    kind, kind_of_option = votes_kind(method), {"balance": "classes", "clusters": "similarities"}
    for name, value in options.items():
        if value and kind_of_option[name] != kind:
            raise ParameterError(f"--{name} is for {kind_of_option[name]}; {method} takes {kind}")
    return {name: value for name, value in options.items() if value}


def learner_params(method: str, pairs: list[str] | None) -> dict[str, Any]:
    """Parse name=value pairs for a training method; confusion=DIR takes the matrices of a saved result."""
    from ...core.errors import ParameterError
    from ...core.method_registry import card, learner
    from ...core.result import Result
    from ...kinds.classes.learn.cards import LEARNERS

    if method not in LEARNERS:
        try:
            card(method)
        except ParameterError:
            learner(method)  # suggests similar names
        raise ParameterError(f"{method} aggregates votes without features; use: crowdwise aggregate -m {method}")
    from ...learn.fitting import method_class, method_parameters

    parsed = parse_pairs(method, pairs, method_parameters(method_class(method)))
    for name in parsed:
        if name == "confusion":
            parsed[name] = Result.load(Path(parsed[name]))
    if method == "known_confusion" and "confusion" not in parsed:
        raise ParameterError("known_confusion needs -p confusion=DIR, a folder with a result that has confusions")
    return parsed


def show_progress(estimator: CrowdEstimator) -> None:
    """Show a progress bar if stderr is a terminal."""
    if sys.stderr.isatty():
        from ...learn.fitting import method_class
        from ...learn.training.history import ProgressBar

        name = estimator.method_name()
        estimator.callbacks = (ProgressBar(estimator.epochs or method_class(name).defaults.epochs, name),)
