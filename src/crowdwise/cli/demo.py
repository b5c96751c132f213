"""crowdwise demo: a simulated crowd labels scikit-learn's digits, from votes to report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from ..core.errors import MissingDependencyError
from ..core.method_registry import DEFAULT
from .options import Force, Seed, option
from .terminal import console, print_table

if TYPE_CHECKING:
    from ..core.result import Result
    from ..kinds.classes.simulate.planted import Crowd

# Number of digits that the crowd labels; the others test the classifiers.
LABELLED = 1200
# Number of workers of each kind.
KINDS = {"careful": 9, "sloppy": 12, "constant": 8, "copier": 6, "adversary": 8}


def demo(
    output: Annotated[
        Path, option("Output", "-o, --output", "Folder for the votes, the truth and the results.")
    ] = Path("demo"),
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Run crowdwise on a simulated crowd that labels handwritten digits, in under a minute."""
    from ..evaluation.statement import ERROR, at_error
    from ..io.atomic import refuse_to_overwrite
    from ..io.run_folder import OWN, Run
    from ..report import write as write_report

    out = console(stderr=False)
    refuse_to_overwrite(output / "run", OWN, force)
    digits = load_digits()
    crowd = _crowd(digits.target[:LABELLED], digits.data[:LABELLED], seed)
    crowd.save(output / "crowd", force=True)
    votes = crowd.annotations
    out.print(
        f"{votes.n_workers} workers gave {len(votes):,} labels to {votes.n_tasks:,} handwritten digits, "
        f"{len(votes) // votes.n_tasks} each.\n"
        f"Among them: {', '.join(f'{n} {kind}' for kind, n in KINDS.items())}. crowdwise does not know this."
    )
    results = _methods(crowd, digits, seed)
    best: Result = at_error(results[DEFAULT], ERROR)
    _print_accuracy(crowd, best, out)
    _print_workers(crowd, best)
    _adversary(crowd, best, out)
    Run(best, votes).save(output / "run", force=True)
    write_report(
        votes, best, output / "run" / "report.html", truth=crowd.truth_table(), title="The demo's crowd", force=True
    )
    out.print(f"\nEverything is in {output}/: the crowd's votes in crowd/labels.csv, the answers in run/.")
    out.print(f"Open {output}/run/report.html in a browser: which labels are safe and which workers to train. Try\n")
    out.print(f"  crowdwise inspect {output}/crowd/labels.csv")
    out.print(f"  crowdwise compare {output}/crowd/labels.csv --truth {output}/crowd/truth.csv")
    out.print(f"  crowdwise show {output}/run")


def load_digits() -> Any:
    """Return the handwritten digits of scikit-learn."""
    try:
        from sklearn import datasets
    except ImportError:
        raise MissingDependencyError(
            "the demo needs scikit-learn for its digits; install it with: pip install 'crowdwise[sklearn]'"
        ) from None
    return datasets.load_digits()


def _crowd(truth: Any, features: Any, seed: int) -> Crowd:
    from .. import simulate as sim

    groups = [
        sim.OneCoin(KINDS["careful"], low=0.85, high=0.97),
        sim.OneCoin(KINDS["sloppy"], low=0.4, high=0.65),
        sim.Constant(KINDS["constant"]),
        sim.Copier(KINDS["copier"], of=1),
        sim.Adversary(KINDS["adversary"]),
    ]
    return sim.crowd(len(truth), 10, groups, sim.PerTask(8), truth=truth, features=features, seed=seed)


def _kinds() -> list[str]:
    return [kind for kind, n in KINDS.items() for _ in range(n)]


def _methods(crowd: Crowd, digits: Any, seed: int) -> dict[str, Any]:
    """Aggregate with three methods and train a classifier on the labels of each."""
    from ..core import method_registry as registry
    from ..evaluation.evaluate import evaluate

    results, rows = {}, []
    for name in ("majority_vote", "dawid_skene", DEFAULT):
        result = registry.method(name, seed=seed).fit(crowd.annotations)
        scores = evaluate(result, crowd.truth_table())
        results[name] = result
        learnt = _classifier(digits, result.labels)
        rows.append(
            [name, f"{scores.accuracy:.1%}", f"{result.mean_confidence:.1%}", f"{scores.ece:.3f}", f"{learnt:.1%}"]
        )
    rows.append(["(the truth itself)", "100.0%", "", "", f"{_classifier(digits, crowd.truth):.1%}"])
    header = ["labels by", "right", "claimed", "ECE", "classifier"]
    print_table("How many labels are right, and a classifier trained on them", header, rows, stderr=False)
    return results


def _classifier(digits: Any, labels: Any) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
    model.fit(digits.data[:LABELLED], labels)
    return float(model.score(digits.data[LABELLED:], digits.target[LABELLED:]))


def _print_accuracy(crowd: Crowd, result: Result, out: Any) -> None:
    """Print what can be stated without the truth, and what the truth shows."""
    from ..evaluation.statement import outlook, trust
    from ..kinds.classes.page.tasks import calibration
    from ..kinds.classes.page.verdict import by_truth

    accuracy = by_truth(calibration(crowd.annotations, result, crowd.truth_table()), trust(result))
    out.print(f"Without the truth, crowdwise states about the labels by {result.method}: {outlook(result)}.")
    out.print(f"The truth of this crowd shows: {accuracy}.")


def _right(crowd: Crowd) -> list[float]:
    """Return the share of correct labels of each worker."""
    votes = crowd.annotations
    right = np.bincount(
        votes.worker, weights=np.asarray(crowd.truth)[votes.task] == votes.label, minlength=votes.n_workers
    )
    return [float(share) for share in right / np.maximum(votes.labels_per_worker, 1)]


def _print_workers(crowd: Crowd, result: Result) -> None:
    """Print the estimated and the true accuracy of the best and the worst worker of each kind."""
    from ..workers.tables import bar

    kinds, accuracy = _kinds(), _right(crowd)
    order = sorted(range(len(kinds)), key=lambda w: -float(result.skill[w]))
    rows = []
    for kind in KINDS:
        members = [w for w in order if kinds[w] == kind]
        for w in dict.fromkeys([members[0], members[-1]]):
            low, high = float(result.skill_low[w]), float(result.skill_high[w])
            skill = float(result.skill[w])
            cells = [f"{skill:.2f}", f"{low:.2f}–{high:.2f}", bar(skill, low, high), f"{accuracy[w]:.2f}"]
            rows.append([str(result.workers[w]), kind, *cells])
    rows.sort(key=lambda row: -float(row[2]))
    header = ["worker", "kind", "skill", "interval", "0                     1", "right"]
    print_table("Worker quality: the best and the worst of each kind", header, rows, stderr=False)
    inside = [lo <= a <= hi for lo, a, hi in zip(result.skill_low, accuracy, result.skill_high, strict=True)]
    console(stderr=False).print(
        f"{sum(inside)} of {len(kinds)} intervals hold the share of the worker's labels that are right."
    )


def _adversary(crowd: Crowd, result: Result, out: Any) -> None:
    """Print what the labels of an adversary mean: consistent errors are informative."""
    kinds = _kinds()
    confusion = result.shown_confusion
    assert confusion is not None
    worst = min((w for w in range(len(kinds)) if kinds[w] == "adversary"), key=lambda w: float(result.skill[w]))
    answers = confusion[worst].argmax(axis=1)
    pairs = ", ".join(f"{true}→{answer}" for true, answer in enumerate(answers) if true != answer)
    out.print(
        f"\nWorker {result.workers[worst]} is an adversary: right {_right(crowd)[worst]:.0%} of the "
        f"time, but predictable (true→answered: {pairs}).\nThey mislead majority vote; crowdwise uses their confusion "
        "matrix."
    )
