"""crowdwise train: features and votes to a net of the kind that the votes are, and its tables."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..options import Force, Json, Params, Votes, parse_pairs
from ..terminal import naming, print_json, tell_ledger
from ..vote_options import USUAL, Asked, reads_votes
from .ways import WAYS

if TYPE_CHECKING:
    from ...learn.fitting import Fitting

FILES = (*(way.file for way in WAYS.values()), "model.safetensors", "rows.parquet", "history.csv")
CHECKPOINTS = "checkpoints"
Features = Annotated[
    Path,
    typer.Argument(
        help="Features: .npz with arrays task and x, .npy in the order of the sorted tasks, .parquet with a column "
        "task; for classes and numbers also a folder of .npy or .parquet files, which need not fit into memory. For "
        "comparisons and same or different a row an item (item in place of task); for spans a row a token, with start "
        "and end where spans count characters.",
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
            help="See: crowdwise methods. By default max_mig, for numbers gaussian_net, for comparisons reward_net, "
            "for spans sequence_layer, for same or different similarity_net.",
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
    clusters: Annotated[
        int | None,
        typer.Option("--clusters", min=2, help="For same or different: how many; by default as the answers say."),
    ] = None,
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

    Writes the net and labels.csv, workers.csv, confusion.csv (classes), items.csv (items), history.csv, ledger.json.
    """
    from ...io.beside import refuse_to_overwrite
    from ...io.run_folder import OWN

    annotations: Any = None if method else asked.read(votes).annotations
    method = method or default_for(annotations, votes)
    params = learner_params(method, param)
    way = WAYS[takes(method)]
    refuse_to_overwrite(output, FILES + OWN, force)
    if not resume:
        shutil.rmtree(output / CHECKPOINTS, ignore_errors=True)
    given = way.words.features(features)
    if annotations is None:
        annotations = asked.read(votes).annotations
    refuse_other_kind(method, annotations, votes)
    how = {
        "params": params, "epochs": epochs, "batch_size": batch_size, "lr": lr, "validation": validation,
        "patience": patience, "device": device, "folder": output / CHECKPOINTS, "resume": resume, "seed": seed,
    }  # fmt: skip
    estimator = way.made(net, method, **how, **only_for(method, {"balance": balance, "clusters": clusters}))
    tell_ledger(annotations.ledger)
    watch(estimator)
    with naming(features, votes):
        estimator.fit(given.pop("X"), annotations, **given)
    way.save(estimator, output, annotations)
    shutil.rmtree(output / CHECKPOINTS, ignore_errors=True)  # of no more use
    if json:
        print_json(way.words.summary(estimator, annotations, output))
    else:
        way.words.tell(estimator, annotations, output)


def takes(method: str) -> str:
    """The kind of votes that a training method takes."""
    from ...core.method_registry import learner

    return learner(method).takes


def default_for(votes: Any, where: str) -> str:
    """The method for a kind of votes; one line where the command has none."""
    from ...core.errors import DataError

    found = votes.answers.kind
    if found not in WAYS:
        raise DataError(f"{where} was read as {found}; nets are trained on {', '.join(WAYS)}")
    return WAYS[found].method


def refuse_other_kind(method: str, votes: Any, where: str) -> None:
    """One line where the file holds another kind of votes than the method takes."""
    from ...core.errors import DataError

    wanted, found = takes(method), votes.answers.kind
    if wanted != found:
        other = f"; -m {WAYS[found].method} takes {found}" if found in WAYS else ""
        more = "; name their column value, or say --kind numbers" if wanted == "numbers" else ""
        raise DataError(f"{where} was read as {found}, {method} takes {wanted}{more}{other}")


def only_for(method: str, given: dict[str, Any]) -> dict[str, Any]:
    """Options that one kind alone knows: refused with another, handed on where they were given."""
    from ...core.errors import ParameterError

    kind, known = takes(method), {"balance": "classes", "clusters": "similarities"}
    for name, value in given.items():
        if value and known[name] != kind:
            raise ParameterError(f"--{name} is for {known[name]}; {method} takes {kind}")
    return {name: value for name, value in given.items() if value}


def learner_params(method: str, given: list[str] | None) -> dict[str, Any]:
    """name=value pairs for a training method; confusion=DIR takes the matrices of a saved result."""
    from ...core.errors import ParameterError
    from ...core.method_registry import card, learner
    from ...core.result import Result
    from ...kinds.classes.learn.cards import LEARNERS

    if method not in LEARNERS:
        try:
            card(method)
        except ParameterError:
            learner(method)  # says which name is near
        raise ParameterError(f"{method} aggregates votes without features; use: crowdwise aggregate -m {method}")
    from ...learn.fitting import method_class, method_parameters

    parsed = parse_pairs(method, given, method_parameters(method_class(method)))
    for name in parsed:
        if name == "confusion":
            parsed[name] = Result.load(Path(parsed[name]))
    if method == "known_confusion" and "confusion" not in parsed:
        raise ParameterError("known_confusion needs -p confusion=DIR, a folder with a result that has confusions")
    return parsed


def watch(estimator: Fitting) -> None:
    """A bar on stderr while it trains, when somebody is looking."""
    if sys.stderr.isatty():
        from ...learn.fitting import method_class
        from ...learn.training.history import Progress

        name = estimator.chosen()
        estimator.callbacks = (Progress(estimator.epochs or method_class(name).defaults.epochs, name),)
