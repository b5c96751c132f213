"""How votes of each kind are trained on: the estimator, its file in a run folder, what the command line says of it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ..terminal import print_table, say


@dataclass(frozen=True)
class Way:
    """`method` where none is named; `estimator`, a name of crowdwise.learn; `store` writes it, `file` tells it;
    `said`, the module here with `features`, `summary`, `tell` and `predicted`; `title` for the list of methods."""

    method: str
    estimator: str
    store: str
    file: str
    said: str
    title: str

    def made(self, *args: Any, **given: Any) -> Any:
        """The estimator."""
        return getattr(import_module("crowdwise.learn"), self.estimator)(*args, **given)

    def loaded(self, folder: Path) -> Any:
        """The estimator that a run folder holds."""
        return getattr(import_module("crowdwise.learn"), self.estimator).load(folder)

    def save(self, fitted: Any, folder: Path, votes: Any) -> None:
        """Write it as a run, over what is there."""
        import_module(self.store).save(fitted, folder, force=True, votes=votes)

    @property
    def words(self) -> Any:
        """The module that reads features for it and tells of it."""
        return import_module(f".{self.said}", __package__)


WAYS = {
    "classes": Way("max_mig", "CrowdClassifier", "crowdwise.kinds.classes.learn.store", "classifier.json", "classes",
                   "Train a classifier on features and votes"),
    "numbers": Way("gaussian_net", "CrowdRegressor", "crowdwise.kinds.numbers.learn.regressor", "regressor.json",
                   "numbers",
                   "Train a regressor on features and numbers"),
    "comparisons": Way("reward_net", "CrowdRanker", "crowdwise.learn.kept", "ranker.json", "items",
                       "Train a ranker on features of items and comparisons"),
    "similarities": Way("similarity_net", "CrowdClusterer", "crowdwise.learn.kept", "clusterer.json", "items",
                        "Train a clusterer on features of items and same or different"),
    "spans": Way("sequence_layer", "CrowdTagger", "crowdwise.learn.kept", "tagger.json", "spans",
                 "Train a tagger on features of tokens and spans"),
}  # fmt: skip


def way_of(folder: Path) -> Way:
    """The way that a run folder was trained; a classifier's where nothing tells, whose loader says what is missing."""
    return next((way for way in WAYS.values() if (folder / way.file).is_file()), WAYS["classes"])


def summary(fitted: Any, votes: Any, output: Path) -> dict[str, Any]:
    """What --json prints of any training."""
    history = fitted.history_
    return {
        "method": fitted.chosen(),
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
    """What --json prints where the estimate has facts of its own."""
    return {**summary(fitted, votes, output), **fitted.result_.estimate.facts()}


def tell_of(fitted: Any, votes: Any, output: Path, of: str, *, said: str, new: str) -> None:
    """The short summary for people: `of` how many things, by what was `said` the epoch was chosen, what `new` ones
    can be predicted."""
    result = fitted.result_
    answers = f"{len(votes):,} {result.kind.answers_word} of {of} by {votes.n_workers:,} workers"
    say(f"{answers}, {with_shape(fitted)}")
    say(went(fitted, said))
    say(result.estimate.summary())
    print_table("Workers, best and worst", *result.kind.hooks.worker_rows(result))
    say(f"written to {output}; new {new}: crowdwise predict {output} FEATURES")


def went(fitted: Any, what: str) -> str:
    """How many epochs, and which one is kept."""
    history = fitted.history_
    if history.best_epoch is None:
        return f"{len(history)} epochs, loss {history['loss'][0]:.4f} to {history['loss'][-1]:.4f}"
    score = history["score"][history.best_epoch - 1]
    return f"{len(history)} epochs; epoch {history.best_epoch} predicts held-out {what} best ({score:.4f}): kept"


def with_shape(fitted: Any) -> str:
    """The features' shape, method and net, for the first line of what is told."""
    shape = " × ".join(map(str, fitted.input_shape_))
    return f"features {shape}; {fitted.chosen()} with {fitted.net}"


def refuse_votes(fitted: Any, said: Any) -> None:
    """One line where answers beside the features tell a net nothing."""
    from ...core.errors import ParameterError

    if said is not None:
        raise ParameterError(
            f"--votes goes with classes, numbers and spans; {fitted.chosen()} judges items by their features alone"
        )
