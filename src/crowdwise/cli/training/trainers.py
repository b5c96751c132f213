"""Training per kind of votes: the estimator, its file in a run folder, and its module on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ..terminal import info, print_table


@dataclass(frozen=True)
class Trainer:
    """How to train on one kind of votes.

    Attributes:
        method: Default training method.
        estimator: Name of the estimator in crowdwise.learn.
        file: File that identifies the estimator in a run folder.
        module_name: Module of this package with `read_features`, `summary`, `print_summary` and `predict_table`.
        title: Title in the list of methods.
    """

    method: str
    estimator: str
    file: str
    module_name: str
    title: str

    def build(self, *args: Any, **kwargs: Any) -> Any:
        """Return a new estimator."""
        return getattr(import_module("crowdwise.learn"), self.estimator)(*args, **kwargs)

    def load(self, folder: Path) -> Any:
        """Load the estimator of a run folder."""
        return getattr(import_module("crowdwise.learn"), self.estimator).load(folder)

    def save(self, fitted: Any, folder: Path, votes: Any) -> None:
        """Save it as a run, replacing an existing one."""
        import_module("crowdwise.learn.store").save(fitted, folder, force=True, votes=votes)

    @property
    def module(self) -> Any:
        """The module with its functions for the command line."""
        return import_module(f".{self.module_name}", __package__)


TRAINERS = {
    "classes": Trainer(
        "max_mig",
        "CrowdClassifier",
        "classifier.json",
        "classes",
        "Train a classifier on features and votes",
    ),
    "numbers": Trainer(
        "gaussian_net",
        "CrowdRegressor",
        "regressor.json",
        "numbers",
        "Train a regressor on features and numbers",
    ),
    "comparisons": Trainer(
        "reward_net",
        "CrowdRanker",
        "ranker.json",
        "items",
        "Train a ranker on features of items and comparisons",
    ),
    "similarities": Trainer(
        "similarity_net",
        "CrowdClusterer",
        "clusterer.json",
        "items",
        "Train a clusterer on features of items and similarities",
    ),
    "spans": Trainer(
        "sequence_layer",
        "CrowdTagger",
        "tagger.json",
        "spans",
        "Train a tagger on features of tokens and spans",
    ),
}


def trainer_of(folder: Path) -> Trainer:
    """Return the trainer of a run folder; the classifier's, which reports missing files, if there is none."""
    return next((trainer for trainer in TRAINERS.values() if (folder / trainer.file).is_file()), TRAINERS["classes"])


def summary(fitted: Any, votes: Any, output: Path) -> dict[str, Any]:
    """Return what --json prints for every kind."""
    history = fitted.history_
    return {
        "method": fitted.method_name(),
        "net": fitted.net,
        "params": dict(fitted.result_.params),
        "annotations": len(votes),
        "tasks": votes.n_tasks,
        "rows": len(fitted.tasks_),
        "workers": votes.n_workers,
        "features": list(fitted.input_shape_),
        "epochs": len(history),
        "best_epoch": history.best_epoch,
        "stopped_early": history.stopped_early,
        "loss": history["loss"][-1],
        "score": None if history.best_epoch is None else history["score"][history.best_epoch - 1],
        "ledger": votes.ledger.to_dict(),
        "output": str(output),
    }


def summary_with_facts(fitted: Any, votes: Any, output: Path) -> dict[str, Any]:
    """Return what --json prints, with the facts of the estimate."""
    return {**summary(fitted, votes, output), **fitted.result_.estimate.facts()}


def print_training(fitted: Any, votes: Any, output: Path, subject: str, *, held_out: str, predictable: str) -> None:
    """Print a short summary on stderr.

    Args:
        fitted: The trained estimator.
        votes: The votes of the training.
        output: The run folder.
        subject: Number and name of what was labelled, such as "20 items".
        held_out: Name of the held-out answers that chose the epoch.
        predictable: Name of what can be predicted.
    """
    result = fitted.result_
    answers = f"{len(votes):,} {result.kind.answers_word} of {subject} by {votes.n_workers:,} workers"
    info(f"{answers}, {net_sentence(fitted)}")
    info(epochs_sentence(fitted, held_out))
    info(result.estimate.summary())
    print_table("Workers, best and worst", *result.kind.hooks.worker_rows(result))
    info(f"written to {output}; new {predictable}: crowdwise predict {output} FEATURES")


def epochs_sentence(fitted: Any, held_out: str) -> str:
    """Return a sentence on the number of epochs and the chosen one."""
    history = fitted.history_
    if history.best_epoch is None:
        return f"{len(history)} epochs, loss {history['loss'][0]:.4f} to {history['loss'][-1]:.4f}"
    score = history["score"][history.best_epoch - 1]
    best = f"epoch {history.best_epoch} predicts held-out {held_out} best ({score:.4f}) and was kept"
    return f"{len(history)} epochs; {best}"


def net_sentence(fitted: Any) -> str:
    """Return the features' shape, the method and the net, for the first line of the summary."""
    shape = " × ".join(map(str, fitted.input_shape_))
    return f"features {shape}; {fitted.method_name()} with {fitted.net}"


def refuse_votes(fitted: Any, votes: Any) -> None:
    """Refuse --votes for nets that cannot use votes in prediction."""
    from ...core.errors import ParameterError

    if votes is not None:
        raise ParameterError(
            f"--votes applies to classes, numbers and spans; {fitted.method_name()} predicts items from features alone"
        )
