"""Training on the command line for each kind of votes: features, estimator, summaries and predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..terminal import info, print_table

if TYPE_CHECKING:
    import polars as pl

    from ...learn.fitting import CrowdEstimator


class Trainer:
    """Base class: how nets are trained on one kind of votes.

    Attributes:
        method: Default training method.
        estimator: Name of the estimator in crowdwise.learn.
        file: File that identifies the estimator in a run folder.
        title: Title in the list of methods.
        answers: Name of the held-out answers that choose the epoch.
        rows: Name of the tasks of predictions.
    """

    method: ClassVar[str]
    estimator: ClassVar[str]
    file: ClassVar[str]
    title: ClassVar[str]
    answers: ClassVar[str]
    rows: ClassVar[str] = "tasks"

    def estimator_class(self) -> Any:
        """Return the class of the estimator."""
        from ... import learn

        return getattr(learn, self.estimator)

    def save(self, fitted: CrowdEstimator, folder: Path, votes: Any) -> None:
        """Save an estimator as a run, replacing an existing one."""
        from ...learn import store

        store.save(fitted, folder, force=True, votes=votes)

    def read_features(self, path: Path) -> dict[str, Any]:
        """Read X and the tasks of its rows."""
        from ...learn.data.folder import read_features

        tasks, x = read_features(path)
        return {"X": x, "tasks": tasks}

    def summary(self, fitted: Any, votes: Any, output: Path) -> dict[str, Any]:
        """Return what --json prints."""
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
            **self.facts(fitted, votes),
        }

    def facts(self, fitted: Any, votes: Any) -> dict[str, Any]:  # noqa: ARG002
        """Return the facts of the summary that depend on the kind."""
        facts: dict[str, Any] = fitted.result_.estimate.facts()
        return facts

    def print_summary(self, fitted: Any, votes: Any, output: Path) -> None:
        """Print a short summary on stderr."""
        result, shape = fitted.result_, " × ".join(map(str, fitted.input_shape_))
        info(f"{self.subject(fitted, votes)}, features {shape}; {fitted.method_name()} with {fitted.net}")
        info(self.epochs(fitted))
        statement = self.statement(fitted)
        if statement:
            info(statement)
        print_table(self.table_title, *result.kind.hooks.worker_rows(result))
        info(f"written to {output}; new {self.rows}: crowdwise predict {output} FEATURES")

    table_title: ClassVar[str] = "Workers, best and worst"

    def subject(self, fitted: Any, votes: Any) -> str:
        """Return the numbers of answers, labelled rows and workers."""
        answers = f"{len(votes):,} {fitted.result_.kind.answers_word}"
        return f"{answers} of {self.labelled(votes)} by {votes.n_workers:,} workers"

    def labelled(self, votes: Any) -> str:
        """Return the number and name of the labelled rows."""
        return f"{votes.n_tasks:,} tasks"

    def statement(self, fitted: Any) -> str:
        """Return a sentence on the estimate."""
        return str(fitted.result_.estimate.summary())

    def epochs(self, fitted: Any) -> str:
        """Return a sentence on the number of epochs and the chosen one."""
        history = fitted.history_
        if history.best_epoch is None:
            return f"{len(history)} epochs, loss {history['loss'][0]:.4f} to {history['loss'][-1]:.4f}"
        score = history["score"][history.best_epoch - 1]
        best = f"epoch {history.best_epoch} predicts held-out {self.answers} best ({score:.4f}) and was kept"
        return f"{len(history)} epochs; {best}"

    def predict_table(self, fitted: Any, inputs: dict[str, Any], votes: Any, unknown: Any) -> pl.DataFrame:
        """Return one row per task."""
        raise NotImplementedError


class ClassTrainer(Trainer):
    """Training of a classifier."""

    method, estimator, file = "max_mig", "CrowdClassifier", "classifier.json"
    title, answers = "Train a classifier on features and votes", "labels"

    def facts(self, fitted: Any, votes: Any) -> dict[str, Any]:
        """Return the number of tasks with features, the classes and the mean confidence."""
        confidence = fitted.result_.mean_confidence
        return {"tasks": len(fitted.tasks_), "classes": votes.classes.to_list(), "mean_confidence": confidence}

    def subject(self, fitted: Any, votes: Any) -> str:
        """Return the numbers of annotations, tasks, workers and classes."""
        answers = f"{len(votes):,} annotations of {len(fitted.tasks_):,} tasks"
        return f"{answers} by {votes.n_workers:,} workers, {votes.n_classes} classes"

    def statement(self, fitted: Any) -> str:
        """Return a sentence on the quality of the labels."""
        from ...evaluation.statement import outlook

        return outlook(fitted.result_)

    def predict_table(self, fitted: Any, inputs: dict[str, Any], votes: Any, unknown: Any) -> pl.DataFrame:
        """Return one row per task: task, label, confidence, p_<class>..."""
        import polars as pl

        x, tasks = inputs["X"], inputs["tasks"]
        proba = (
            fitted.predict_proba(x)
            if votes is None
            else fitted.forecast_proba(x, votes, tasks=tasks, unknown_workers=unknown)
        )
        classes = fitted.class_names_
        columns = {"task": _task_names(tasks, votes, len(x)), "label": classes.gather(proba.argmax(axis=1))}
        columns |= {"confidence": proba.max(axis=1)}
        columns |= {f"p_{name}": proba[:, k] for k, name in enumerate(classes.cast(pl.String).to_list())}
        return pl.DataFrame(columns)


class NumberTrainer(Trainer):
    """Training of a regressor."""

    method, estimator, file = "gaussian_net", "CrowdRegressor", "regressor.json"
    title, answers = "Train a regressor on features and numbers", "numbers"
    table_title = "Workers"

    def facts(self, fitted: Any, votes: Any) -> dict[str, Any]:
        """Return the number of tasks with features, the parts of the answers and the score."""
        return {"tasks": len(fitted.tasks_), "numbers": list(votes.answers.names), "score": _best_score(fitted)}

    def subject(self, fitted: Any, votes: Any) -> str:
        """Return the numbers of answers, tasks and workers."""
        return f"{len(votes):,} numbers for {len(fitted.tasks_):,} tasks by {votes.n_workers:,} workers"

    def statement(self, fitted: Any) -> str:  # noqa: ARG002
        """Return nothing: regressors have no statement."""
        return ""

    def epochs(self, fitted: Any) -> str:
        """Return a sentence on the number of epochs and the chosen one."""
        history, score = fitted.history_, _best_score(fitted)
        if score is None:
            return f"{len(history)} epochs, loss {history['loss'][0]:.4f} to {history['loss'][-1]:.4f}"
        best = f"epoch {history.best_epoch} predicts held-out numbers best ({score:.0%} of their variance)"
        return f"{len(history)} epochs; {best} and was kept"

    def predict_table(self, fitted: Any, inputs: dict[str, Any], votes: Any, unknown: Any) -> pl.DataFrame:
        """Return one row per task: task, value, and std where the method has it; one column per part of an answer."""
        import numpy as np
        import polars as pl

        x, tasks = inputs["X"], inputs["tasks"]
        if votes is None:
            value = fitted.predict(x)
            std = None if fitted.gap_ is None else fitted.predict_std(x)
        else:
            value, std = fitted.forecast(x, votes, tasks=tasks, unknown_workers=unknown)
        columns: dict[str, Any] = {"task": _task_names(tasks, votes, len(x))}
        for name, numbers in (("value", value), ("std", std)):
            if numbers is not None:
                wide = np.reshape(numbers, (len(value), -1))
                columns |= {column: wide[:, j] for j, column in enumerate(fitted.column(name))}
        return pl.DataFrame(columns)


class ItemTrainer(Trainer):
    """Training on answers to pairs of items, whose features are given."""

    answers, rows = "answers", "items"

    def read_features(self, path: Path) -> dict[str, Any]:
        """Read X and the items of its rows."""
        from ...learn.data.folder import read_with

        items, x, _ = read_with(path)
        return {"X": x, "items": items}

    def labelled(self, votes: Any) -> str:
        """Return the number of items."""
        return f"{len(votes.answers.items):,} items"

    def predict_table(self, fitted: Any, inputs: dict[str, Any], votes: Any, unknown: Any) -> pl.DataFrame:  # noqa: ARG002
        """Return one row per item."""
        import polars as pl

        from ...core.errors import ParameterError

        if votes is not None:
            raise ParameterError(
                f"--votes applies to classes, numbers and spans; {fitted.method_name()} predicts items from features "
                "alone"
            )
        x, items = inputs["X"], inputs["items"]
        return pl.DataFrame({"item": range(len(x)) if items is None else items, **self.predictions(fitted, x)})

    def predictions(self, fitted: Any, x: Any) -> dict[str, Any]:
        """Return the columns of the predictions."""
        raise NotImplementedError


class ComparisonTrainer(ItemTrainer):
    """Training of a ranker."""

    method, estimator, file = "reward_net", "CrowdRanker", "ranker.json"
    title = "Train a ranker on features of items and comparisons"

    def predictions(self, fitted: Any, x: Any) -> dict[str, Any]:
        """Return the score of each item."""
        return {"score": fitted.predict(x)}


class SimilarityTrainer(ItemTrainer):
    """Training of a clusterer."""

    method, estimator, file = "similarity_net", "CrowdClusterer", "clusterer.json"
    title = "Train a clusterer on features of items and similarities"

    def predictions(self, fitted: Any, x: Any) -> dict[str, Any]:
        """Return cluster, confidence and p_<cluster>... of each item; clusters are numbered from 1."""
        proba = fitted.predict_proba(x)
        columns = {"cluster": proba.argmax(axis=1) + 1, "confidence": proba.max(axis=1)}
        return columns | {f"p_{k + 1}": proba[:, k] for k in range(proba.shape[1])}


class SpanTrainer(Trainer):
    """Training of a tagger."""

    method, estimator, file = "sequence_layer", "CrowdTagger", "tagger.json"
    title, answers = "Train a tagger on features of tokens and spans", "tags"

    def read_features(self, path: Path) -> dict[str, Any]:
        """Read X (a list of arrays), their tasks, and the positions of the tokens."""
        from ...kinds.spans.learn import read_tokens

        return read_tokens(path)

    def predict_table(self, fitted: Any, inputs: dict[str, Any], votes: Any, unknown: Any) -> pl.DataFrame:
        """Return one row per task: task, spans (JSON), confidence."""
        import numpy as np
        import polars as pl

        from ...core.errors import ParameterError
        from ...core.method_registry import learner

        if votes is not None and "forecast" not in learner(fitted.method_name()).can:
            raise ParameterError(f"{fitted.method_name()} has no forecaster; leave --votes out")
        forecast = fitted.forecast(
            inputs["X"], votes, tasks=inputs["tasks"], places=inputs["places"], unknown_workers=unknown
        )
        table = forecast.table(np.zeros(len(forecast), dtype=np.int64))
        return pl.DataFrame({"task": inputs["tasks"], "spans": table["spans"], "confidence": table["confidence"]})


TRAINERS: dict[str, Trainer] = {
    "classes": ClassTrainer(),
    "numbers": NumberTrainer(),
    "comparisons": ComparisonTrainer(),
    "similarities": SimilarityTrainer(),
    "spans": SpanTrainer(),
}


def trainer_of(folder: Path) -> Trainer:
    """Return the trainer of a run folder; the classifier's, which reports missing files, if there is none."""
    return next((trainer for trainer in TRAINERS.values() if (folder / trainer.file).is_file()), TRAINERS["classes"])


def _task_names(tasks: Any, votes: Any, n: int) -> Any:
    if tasks is not None:
        return tasks
    return range(n) if votes is None else votes.tasks


def _best_score(fitted: Any) -> float | None:
    history = fitted.history_
    return None if history.best_epoch is None or "score" not in history.rows[0] else max(history["score"])
