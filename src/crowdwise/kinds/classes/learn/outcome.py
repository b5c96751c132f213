"""What training found, as the same Result that aggregation gives: tables, workers and reports work on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ....core.result import Result, versions
from ....learn.data.crowd import Crowd
from ....learn.data.dataset import CrowdData
from ....learn.method import CrowdMethod
from ....learn.training.hold_out import hold_out
from ....learn.training.sweep import sweep_both
from ..annotations import Annotations
from ..estimate import class_result
from ..maths.skill import worker_skill
from .tables import expected_confusion

if TYPE_CHECKING:
    from .classifier import CrowdClassifier

F8 = npt.NDArray[np.float64]


def outcome(fitted: CrowdClassifier, votes: Annotations, data: CrowdData) -> Result:
    """Posteriors of the training tasks given features and labels (features alone where there is no forecaster)."""
    log_proba, posterior = (p.cpu() for p in sweep_both(fitted.model_, data, fitted._device()))
    crowd = cast("Crowd", data.crowd)
    counts = crowd.counts(posterior.double())
    with torch.no_grad():
        scores = task_scores(fitted, crowd, log_proba)
        confusion = confusions(cast("CrowdMethod", fitted.model_.method), crowd, posterior.double())
    right = posterior[crowd.task, crowd.label].double().numpy()
    weight = None if votes.weight is None else crowd.weight.double().numpy()
    skill = worker_skill(crowd.worker.numpy().astype(np.int32), right, crowd.n_workers, weight)
    order = fitted.tasks_.arg_sort().to_numpy()  # a Result's tasks are sorted
    q = posterior.double().numpy()[order]
    history = fitted.history_
    # Given matrices are the result's own confusion; they are no number to write beside the others.
    plain = {name: value for name, value in (fitted.params or {}).items() if name != "confusion"}
    return class_result(
        method=fitted.method,
        params={**plain, "seed": fitted.seed, "epochs": len(history)},
        tasks=fitted.tasks_.gather(order),
        workers=votes.workers,
        classes=votes.classes,
        posterior=q / q.sum(axis=1, keepdims=True),
        class_prior=q.mean(axis=0),
        skill=skill,
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


def confusions(method: CrowdMethod, crowd: Crowd, posterior: Tensor) -> Tensor:
    """Every worker's confusion as the method has it, or else as its posterior implies; who was unseen, the mean."""
    heard = method.heard.sum(1).cpu() > 0
    own, mean = method.confusion(), method.mean_confusion()
    if own is None:  # without strangers' labels, whose matrices are then the crowd's too
        found = expected_confusion(crowd.keep(heard[crowd.worker]), posterior)
    else:
        found = own.cpu().double()
    return found if mean is None else torch.where(heard[:, None, None], found, mean.cpu().double())


def task_scores(fitted: CrowdClassifier, crowd: Crowd, log_proba: Tensor) -> dict[str, F8]:
    """What the method says of every task, those whose labels were kept aside included."""
    method, history = cast("CrowdMethod", fitted.model_.method), fitted.history_
    found = {name: values.cpu().double() for name, values in method.task_scores().items()}
    if found and fitted.validation and not fitted.refit:
        kept, aside = hold_out(crowd, fitted.validation, fitted.seed)
        size = fitted.batch_size or method.defaults.batch_size or len(kept.labelled)
        slow = [fitted.worker_lr, method.defaults.worker_lr, fitted.lr, method.defaults.lr]
        share = float(aside.labelled.sum()) / float(kept.labelled.sum())
        how = {
            "epochs": history.best_epoch or len(history),
            "batch_size": max(1, round(size * share)),  # as many steps an epoch as the others had
            "lr": next(rate for rate in slow if rate is not None),
        }
        for name, values in method.scores_aside(log_proba, aside, how).items():
            found[name] = torch.where(aside.labelled, values.cpu().double(), found[name])
    return {name: values.numpy() for name, values in found.items()}
