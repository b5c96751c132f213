"""What training found, as the same Result that aggregation gives: tables, workers and reports work on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from ..annotations import Annotations
from ..maths.skill import worker_skill
from ..result import Result, versions
from .data import CrowdData
from .sweep import sweep_both
from .tables import expected_confusion

if TYPE_CHECKING:
    from .classifier import CrowdClassifier


def outcome(fitted: CrowdClassifier, votes: Annotations, data: CrowdData) -> Result:
    """Posteriors of the training tasks given features and labels (features alone where there is no forecaster)."""
    log_proba, posterior = (p.cpu() for p in sweep_both(fitted.model_, data, fitted._device()))
    crowd = data.crowd
    counts = crowd.counts(posterior.double())
    own = fitted.model_.method.confusion()
    with torch.no_grad():
        scores = {name: v.cpu().double().numpy() for name, v in fitted.model_.method.task_scores().items()}
        confusion = expected_confusion(crowd, posterior.double()) if own is None else own.detach().cpu().double()
    right = posterior[crowd.task, crowd.label].double().numpy()
    weight = None if votes.weight is None else crowd.weight.double().numpy()
    skill = worker_skill(crowd.worker.numpy().astype(np.int32), right, crowd.n_workers, weight)
    order = fitted.tasks_.arg_sort().to_numpy()  # a Result's tasks are sorted
    q = posterior.double().numpy()[order]
    history = fitted.history_
    # Given matrices are the result's own confusion; they are no number to write beside the others.
    plain = {name: value for name, value in (fitted.params or {}).items() if name != "confusion"}
    return Result(
        method=fitted.method,
        params={**plain, "seed": fitted.seed, "epochs": len(history)},
        tasks=fitted.tasks_.gather(order),
        workers=votes.workers,
        classes=votes.classes,
        posterior=q / q.sum(axis=1, keepdims=True),
        class_prior=q.mean(axis=0),
        skill=skill.mean,
        skill_low=skill.low,
        skill_high=skill.high,
        labels_per_task=np.bincount(crowd.task.numpy(), minlength=crowd.n_tasks)[order],
        labels_per_worker=votes.labels_per_worker,
        confusion=(confusion / confusion.sum(2, keepdim=True)).numpy(),
        counts=counts.numpy(),
        trace=-np.array(history["loss"]),
        stage=np.arange(len(history)),  # a stochastic loss may rise: every epoch is a stage of its own
        n_iter=len(history),
        extra={
            "classifier": log_proba.exp().double().numpy()[order],
            "best_epoch": history.best_epoch or len(history),
            **{name: values[order] for name, values in scores.items()},
        },
        versions={**versions(), "torch": torch.__version__},
    )
