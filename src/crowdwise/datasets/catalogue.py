"""The catalogue of standard data sets: their sizes, sources and licences.

The data sets are not part of crowdwise; catalogue.csv holds their metadata. Sizes count the rows of the labels file,
before repeats are resolved; the checksum is that of the decompressed labels file.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from ..core.intake.repeats import Duplicates

Kind = Literal["truth", "subjective", "no truth"]


@dataclass(frozen=True)
class DatasetCard:
    """Metadata of a data set.

    Attributes:
        name: Name of the set and its folder.
        kind: "truth" (known independently of the labels), "subjective" (the truth file is an aggregate of the labels
            themselves, so that accuracy only measures the distance of a method from the majority), or "no truth".
        n_tasks: Number of tasks.
        n_workers: Number of workers.
        n_labels: Number of rows of the labels file.
        n_classes: Number of classes.
        sha256: Checksum of the decompressed labels file.
        about: Description.
        source: Where the set comes from.
        licence: Its licence.
        duplicates: How to resolve repeated labels.
    """

    name: str
    kind: Kind
    n_tasks: int
    n_workers: int
    n_labels: int
    n_classes: int
    sha256: str
    about: str
    source: str
    licence: str
    duplicates: Duplicates = "last"


_COUNTS = ("n_tasks", "n_workers", "n_labels", "n_classes")


def _cards() -> dict[str, DatasetCard]:
    text = files(__package__).joinpath("catalogue.csv").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = list(csv.DictReader(text.splitlines()))
    return {row["name"]: DatasetCard(**row | {key: int(row[key]) for key in _COUNTS}) for row in rows}


CATALOGUE: dict[str, DatasetCard] = _cards()

# The sets of the figures in docs/, for comparable results.
FIRST: tuple[str, ...] = (
    "bluebird", "dog", "web", "rte", "temp", "wsd", "trec", "sp", "sp_amt", "labelme", "music", "imagenet15",
    "relevance4", "restaurant", "cf", "zencrowd_in", "facteval", "cifar10n",
)  # fmt: skip

# Sets whose truth is known independently of the crowd, without the _text sets, which repeat rte and sp, and sets that
# are included for other columns (groups, durations, predictions of others' answers). For related crowds see FAMILIES.
INDEPENDENT: tuple[str, ...] = (
    *FIRST,
    "abc3", "adult", "aircrowd6", "cdr_abstract", "cf_amt", "chexpert", "crows", "duchenne", "ducks",
    "eastpolitics1000", "ebm_appendicitis", "euadr", "exam_hci", "facesentiment", "fashion_q1", "hatecheck",
    "headlines", "hitspam_cf", "income94", "leaves16", "llm_figurative", "llm_ideology", "llm_relevance", "llm_stance",
    "mozafari", "mrmc_vandyke", "newsgroups20", "politifact6_ecir", "possent", "product", "quiz_chinese",
    "quiz_english", "quiz_science", "syllogisms", "vision_cueconflict", "vision_edge", "vision_highpass",
    "vision_stylized", "zencrowd_all", "zencrowd_us",
)  # fmt: skip

_KIN: dict[str, tuple[str, ...]] = {
    "zencrowd": ("zencrowd_in", "zencrowd_us", "zencrowd_all"),
    "weather": ("cf", "cf_amt"),
    "film": ("sp", "sp_amt", "sentpol_text"),
    "language": ("rte", "rte_text", "temp", "wsd"),
    "search": ("trec", "relevance4", "adult"),
    "birds": ("bluebird", "ducks"),
    "vision": ("vision_cueconflict", "vision_edge", "vision_highpass", "vision_stylized"),
    "exam": ("quiz_chinese", "quiz_english", "quiz_science", "exam_hci"),
    "llm": ("llm_figurative", "llm_ideology", "llm_relevance", "llm_stance"),
    "medicine": ("ebm_appendicitis", "chexpert", "mrmc_vandyke"),
}

# The family of every set: sets that share tasks, workers or a type of question, which must be held out together in
# cross-validation over sets. Most sets form their own family, of the same name.
FAMILIES: Mapping[str, str] = {name: name for name in CATALOGUE} | {
    name: family for family, members in _KIN.items() for name in members
}
