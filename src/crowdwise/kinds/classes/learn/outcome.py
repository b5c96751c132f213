"""Result of training as a Result like that of an aggregator, so that tables, worker studies and reports work on it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor

from ....core.arrays import F8
from ....core.errors import IdentifiabilityWarning
from ....core.faults import caller_level
from ....core.result import Result
from ....learn.data.crowd import Crowd
from ....learn.data.dataset import CrowdData
from ....learn.method import CrowdMethod
from ....learn.training.hold_out import hold_out
from ....learn.training.sweep import sweep_both
from ..annotations import Annotations
from ..estimate import class_result
from ..maths.skill import worker_skill
from .methods.max_mig import most_probable_prior
from .tables import expected_confusion

if TYPE_CHECKING:
    from .classifier import CrowdClassifier


def outcome(fitted: CrowdClassifier, votes: Annotations, data: CrowdData) -> Result:
    """Return the posteriors of the training tasks given features and labels, or features if there is no forecaster."""
    log_proba, posterior = (p.cpu() for p in sweep_both(fitted.model_, data, fitted._device()))
    crowd = cast("Crowd", data.crowd)
    counts = crowd.counts(posterior.double())
    with torch.no_grad():
        scores = task_scores(fitted, crowd, log_proba)
        confusion = confusions(cast("CrowdMethod", fitted.model_.method), crowd, posterior.double())
    right = posterior[crowd.task, crowd.label].double().numpy()
    weight = None if votes.weight is None else crowd.weight.double().numpy()
    skill = worker_skill(crowd.worker.numpy().astype(np.int32), right, crowd.n_workers, weight)
    fitted.doubts_ = doubts(cast("CrowdMethod", fitted.model_.method), crowd, log_proba, posterior, confusion)
    for doubt in fitted.doubts_:
        warnings.warn(f"{fitted.method}: {doubt}", IdentifiabilityWarning, stacklevel=caller_level())
    order = fitted.tasks_.arg_sort().to_numpy()  # a Result's tasks are sorted
    q = posterior.double().numpy()[order]
    facts = fitted._result_facts(classifier=log_proba.exp().double().numpy()[order])
    facts["extra"] |= {name: values[order] for name, values in scores.items()}
    return class_result(
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
        **facts,
    )


# How far, in total variation, the class prior of the method may be from the frequencies that the labels suggest.
PRIOR_GAP = 0.1


def doubts(
    method: CrowdMethod, crowd: Crowd, log_proba: Tensor, posterior: Tensor, confusion: Tensor
) -> tuple[str, ...]:
    """What contradicts the method's assumptions: its class prior, or workers better than chance.

    log_proba[task, class] is the classifier's, posterior[task, class] that with labels.
    """
    with torch.no_grad():
        prior, has_matrices = method.class_prior(), method.confusion() is not None
    result = [] if prior is None else _doubts_about_prior(prior.cpu().double(), crowd, log_proba.double(), posterior)
    right = float((_shares(crowd, posterior) * confusion.diagonal(dim1=1, dim2=2)).sum())
    if has_matrices and right < 0.9 / method.n_classes:
        result.append(
            f"the mean worker is right in {right:.0%} of the labels, less than chance (1 / {method.n_classes}): the "
            "classes are probably exchanged; compare with an aggregator (`crowdwise aggregate`)"
        )
    return tuple(result)


def _doubts_about_prior(prior: Tensor, crowd: Crowd, log_proba: Tensor, posterior: Tensor) -> list[str]:
    """Compare the prior with the classifier's mean prediction and with the frequencies of the highest likelihood."""
    log_ratio = log_proba - prior.log() + crowd.evidence(expected_confusion(crowd, posterior.double()).log())
    suggested = most_probable_prior(log_ratio[crowd.labelled], prior)
    mean = log_proba[crowd.labelled].exp().mean(0)
    sampling = (len(prior) / (2 * np.pi * max(1, int(crowd.labelled.sum())))) ** 0.5  # of frequencies in a sample
    for what, share in (("the classifier predicts", mean), ("labels and features suggest", suggested)):
        if 0.5 * float((prior - share).abs().sum()) > PRIOR_GAP + sampling:
            worst = int((prior - share).abs().argmax())
            return [
                f"{what} class {worst + 1} of {len(prior)} for {share[worst]:.0%} of the tasks, but the class prior is "
                f"{prior[worst]:.0%}; set other class frequencies (params prior=) or use another method"
            ]
    return []


def _shares(crowd: Crowd, posterior: Tensor) -> Tensor:
    """Share of all labels that is by a worker and on tasks of a class: worker, class."""
    weight = posterior[crowd.task].double() * crowd.weight[:, None].double()
    counts = torch.zeros(crowd.n_workers, crowd.n_classes, dtype=torch.float64).index_add_(0, crowd.worker, weight)
    return counts / counts.sum()


def confusions(method: CrowdMethod, crowd: Crowd, posterior: Tensor) -> Tensor:
    """Return the confusion matrices of the method, or those implied by its posterior; the mean for unseen workers."""
    has_labels = method.label_weight.sum(1).cpu() > 0
    confusion, mean = method.confusion(), method.mean_confusion()
    if confusion is None:  # without the labels of unseen workers, whose matrices are then the crowd's
        expected = expected_confusion(crowd.keep(has_labels[crowd.worker]), posterior)
    else:
        expected = confusion.cpu().double()
    return expected if mean is None else torch.where(has_labels[:, None, None], expected, mean.cpu().double())


def task_scores(fitted: CrowdClassifier, crowd: Crowd, log_proba: Tensor) -> dict[str, F8]:
    """Return the method's scores of every task, including tasks with held-out labels."""
    method, history = cast("CrowdMethod", fitted.model_.method), fitted.history_
    scores = {name: values.cpu().double() for name, values in method.task_scores().items()}
    if scores and fitted.validation and not fitted.refit:
        training, held_out = hold_out(crowd, fitted.validation, fitted.seed)
        size = fitted.batch_size or method.defaults.batch_size or len(training.labelled)
        slow = [fitted.worker_lr, method.defaults.worker_lr, fitted.lr, method.defaults.lr]
        share = float(held_out.labelled.sum()) / float(training.labelled.sum())
        options = {
            "epochs": history.best_epoch or len(history),
            "batch_size": max(1, round(size * share)),  # as many steps per epoch as in training
            "lr": next(rate for rate in slow if rate is not None),
        }
        for name, values in method.held_out_task_scores(log_proba, held_out, options).items():
            scores[name] = torch.where(held_out.labelled, values.cpu().double(), scores[name])
    return {name: values.numpy() for name, values in scores.items()}
