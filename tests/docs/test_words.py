"""What a person reads is plain modern English: a worker is "they", and no old-fashioned words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.data import ROOT

# Word (a regular expression) and what to write instead.
WORDS = {
    r"he(?! et al)|his|him|himself|she|hers?|herself": "they, their, them, themselves",
    r"every man|men": "everybody, people",
    r"foretell(s|ing)?|foretold": "predict",
    r"reckon(s|ed|ing)?": "estimate, work out, count",
    r"anew|afresh": "again, from scratch",
    r"mend(s|ed|ing)?": "fix, correct",
    r"slips? of the pen": "typing mistake",
    r"hence|thus|whence|thence|wherefore": "so",
    r"beware|heed(s|ed|ing)?": "watch out for",
    r"dear(er|est|ly)?": "expensive, costly",
    r"nought|naught|aught": "zero, nothing",
    r"who means? to": "who wants to",
    r"(bears?|bore|bearing) (a|an|the|this|that|each|one|it|no|any|our|their)": "have, get",
    r"lest|ere|as it were|save for|none but|for want of": "unless, before, in a way, except, only, for lack of",
    r"hither|thither|whither|hitherto|upon|unto|whilst|amongst|betwixt|albeit|shall": "plain words",
    r"gravest": "most serious",
    r"(stay|stays|stayed) put": "are held fixed",
    r"coin[- ]tossers?": "random workers",
    r"lookers?": "workers, annotators",
    r"(has|have) no say": "have no influence",
    r"stands? behind on unknown|lose their way": "recommend, fail",
    r"pulls? in wild|wild answers?": "winsorise, outliers",
}
PATTERNS = {re.compile(rf"\b(?:{word})\b", re.IGNORECASE): instead for word, instead in WORDS.items()}
ENDINGS = {"src": {".py", ".html", ".j2", ".js"}, "docs": {".md"}}
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")


def read_by_people() -> list[Path]:
    found = [p for folder, ends in ENDINGS.items() for p in (ROOT / folder).rglob("*") if p.suffix in ends]
    return sorted(found) + [ROOT / page for page in PAGES]


def odd_words(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, word and what to write instead."""
    for pattern, instead in PATTERNS.items():
        for hit in pattern.finditer(text):
            yield text.count("\n", 0, hit.start()) + 1, hit.group(), instead


@pytest.mark.slow
def test_no_odd_words_where_people_read():
    paths = read_by_people()
    assert {p.suffix for p in paths} >= {".py", ".j2", ".md"}
    found = [
        f"{path.relative_to(ROOT)}:{line}: {word!r}; write {instead}"
        for path in paths
        for line, word, instead in odd_words(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    "text",
    ["what he said", "His labels", "it foretells", "by its own reckoning", "yours to mend", "counted anew",
     "a slip of the pen", "who bears a flag", "the dearest", "around nought", "gold labels stay put",
     "a crowd of coin tossers", "wild answers"],
)  # fmt: skip
def test_odd_words_are_seen(text: str):
    assert [line for line, _, _ in odd_words(f"a plain line\n{text}\n")] == [2]


@pytest.mark.parametrize("text", ["He et al. 2016", "recommended", "the theory, here", "a bearing", "where the crowd"])
def test_plain_words_pass(text: str):
    assert not list(odd_words(text))
