"""`certify`: a dated, hashed statement of how well a judge agrees with people, with the anchors that can refute it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from ... import __version__
from ...core.errors import DataError, ParameterError, unwritable
from ...core.votes import Votes
from ...stats.betting import losses_needed
from ...stats.hashing import fingerprint_of
from .estimate import estimate
from .gold import place_blind
from .sampling import random_sample
from .verdicts import Verdicts

FORMAT = "crowdwise judge certificate 1"
DAYS, DROP, ALPHA, POWER = 90, 0.05, 0.05, 0.8


@dataclass(frozen=True)
class Anchor:
    """A task that people labelled: their label, and the judge's when it was certified."""

    task: str
    label: str
    verdict: str


@dataclass(frozen=True)
class JudgeCertificate:
    """What was measured about a judge, and what would refute it. `save` and `load` store it as JSON with its hash.

    Attributes:
        promise: The guarantee as a sentence.
        judge: Name of the judge, and its version, family and prompt hash where they are known.
        agreement: Share of all tasks on which the judge agrees with people.
        low: Low end of its interval.
        high: High end of its interval.
        level: Level of the interval.
        floor: The agreement that is promised; below it the certificate is broken.
        drop: The drop that `anchors_needed` are needed for.
        alpha: Probability of a false alarm over all looks together.
        anchors_needed: Anchors to judge again before a drop of this size would have been found with 80 %.
        anchors: The tasks with people's labels.
        sampling: How the anchors were drawn.
        n_tasks: Number of tasks with verdicts.
        data_hash: Hash of the tasks and the judge's labels.
        made: Date.
        expires: Date after which it says nothing.
        version: Version of crowdwise.
        notes: Notes for the reader.
    """

    promise: str
    judge: dict[str, Any]
    agreement: float
    low: float
    high: float
    level: float
    floor: float
    drop: float
    alpha: float
    anchors_needed: int
    anchors: list[Anchor]
    sampling: str
    n_tasks: int
    data_hash: str
    made: str
    expires: str
    version: str
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with the hash of all others."""
        content = {"format": FORMAT, **asdict(self)}
        return content | {"hash": _hash(content)}

    @property
    def hash(self) -> str:
        """Hash of the certificate."""
        return str(self.to_dict()["hash"])

    def save(self, path: str | Path) -> None:
        """Write the certificate as JSON."""
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        except OSError as error:
            raise unwritable(Path(path), error) from error

    @staticmethod
    def load(path: str | Path) -> JudgeCertificate:
        """Read a certificate.

        Raises:
            DataError: If it is none, or was changed after it was written.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            if content.get("format") != FORMAT:
                raise ValueError("its format is not that of crowdwise certify")
            stated = content.pop("hash")
            if _hash(content) != stated:
                raise DataError(f"{path} was changed after it was written: its hash is wrong; certify again")
            content.pop("format")
            anchors = [Anchor(**anchor) for anchor in content.pop("anchors")]
            return JudgeCertificate(anchors=anchors, **content)
        except OSError as error:
            raise DataError(f"{path} cannot be read ({error.strerror})") from None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(f"{path} is not a certificate of a judge ({' '.join(str(error).split())[:80]})") from None


def _hash(content: dict[str, Any]) -> str:
    text = json.dumps({k: v for k, v in content.items() if k != "hash"}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def certify(
    votes: Votes[Any],
    *,
    gold: Any,
    sampling: Any = None,
    at_least: float | None = None,
    drop: float = DROP,
    alpha: float = ALPHA,
    level: float = 0.95,
    days: int = DAYS,
    prompt: str | None = None,
    today: date | None = None,
    seed: int = 0,
) -> JudgeCertificate:
    """Certify how often one judge agrees with people, for `gate` to test later.

    Args:
        votes: Labels of one judge.
        gold: People's labels of a random sample of the tasks: the anchors.
        sampling: How the gold was drawn: "random" or a `Draw`.
        at_least: Agreement to promise; by default the low end of the interval.
        drop: Drop in agreement for which the number of anchors needed is stated.
        alpha: Probability of a false alarm over all looks together.
        level: Level of the interval.
        days: Days after which the certificate expires.
        prompt: Text of the judge's prompt; only its hash is stored.
        today: Date of the certificate.
        seed: Seed of the interval.

    Returns:
        A `JudgeCertificate`.

    Raises:
        ParameterError: If an option is not valid.
        DataError: If there is more than one judge, the gold is not random, or the agreement is below `at_least`.
    """
    for name, value in (("at_least", at_least), ("drop", drop), ("alpha", alpha)):
        if value is not None and not 0 < value < 1:
            raise ParameterError(f"{name} must be between 0 and 1, got {value}")
    if days < 1:
        raise ParameterError(f"days must be at least 1, got {days}")
    if votes.n_workers != 1:
        raise DataError(f"a certificate is about one judge; there are {votes.n_workers:,}: choose one with --judge")
    sample, verdicts = place_blind(gold, votes, None)
    drawn = random_sample(sampling, sample, verdicts, "a certificate")
    figure = estimate(votes, gold=gold, metric="accuracy", sampling=sampling, level=level, seed=seed)
    assert figure.low is not None
    assert figure.high is not None
    if at_least is not None and figure.low < at_least:
        raise NotCertified(
            f"{verdicts.name} agrees with people in {figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}] of the "
            f"tasks; an agreement of {at_least:g} cannot be promised"
        )
    floor = round(figure.low, 4) if at_least is None else at_least
    anchors = _anchors(drawn.gold.task, drawn.gold.label, verdicts)
    made = datetime.now(UTC).date() if today is None else today
    expires, needed = made + timedelta(days=days), anchors_needed(drop, alpha)
    notes = list(figure.notes)
    if len(anchors) < needed:
        notes.append(
            f"{len(anchors):,} anchors can be judged again; a drop of {100 * drop:g} points takes {needed:,}, so the "
            "gate will answer that it cannot tell. Add anchors, or state a larger drop"
        )
    return JudgeCertificate(
        promise=f"{verdicts.name} agrees with people in at least {100 * floor:.1f} % of such tasks",
        judge=(verdicts.judges or [{"worker": verdicts.name}])[0] | _prompt(prompt), agreement=figure.value,
        low=figure.low, high=figure.high, level=level, floor=floor, drop=drop, alpha=alpha, anchors_needed=needed,
        anchors=anchors, sampling=drawn.design, n_tasks=len(verdicts), data_hash=_data_hash(verdicts),
        made=made.isoformat(), expires=expires.isoformat(), version=__version__, notes=notes,
    )  # fmt: skip


class NotCertified(DataError):
    """The measured agreement is too low for the promise."""


def anchors_needed(drop: float, alpha: float) -> int:
    """Return the anchors to judge again before a drop is found with 80 %, if verdicts only change for the worse.

    >>> anchors_needed(0.05, 0.05)
    249
    """
    from scipy.stats import nbinom

    losses = losses_needed(alpha / 2)
    return losses + int(nbinom.ppf(POWER, losses, drop))


def prompt_hash(prompt: str) -> str:
    """Return the hash by which prompts are compared; spaces at the ends do not count."""
    return hashlib.sha256(prompt.strip().encode()).hexdigest()[:16]


def _prompt(prompt: str | None) -> dict[str, str]:
    return {} if prompt is None else {"prompt_hash": prompt_hash(prompt)}


def _anchors(task: Any, label: Any, verdicts: Verdicts) -> list[Anchor]:
    names = [*map(str, verdicts.classes.to_list()), ""]
    judged = np.asarray(verdicts.label)[task]
    return [
        Anchor(str(name), names[true], names[verdict])
        for name, true, verdict in zip(verdicts.tasks.gather(task).to_list(), label, judged, strict=True)
        if names[verdict]
    ]


def _data_hash(verdicts: Verdicts) -> str:
    import polars as pl

    names = pl.Series([*map(str, verdicts.classes.to_list()), ""])
    rows = pl.DataFrame({"task": verdicts.tasks.cast(pl.String), "label": names.gather(verdicts.label)}).sort("task")
    return fingerprint_of([rows["task"], rows["label"]])
