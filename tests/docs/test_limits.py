"""What the pages say is not supported is refused, and what is supported is not said to be missing."""

from __future__ import annotations

import json
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import crowdwise as cw
from crowdwise.compat.crowdkit import aggregation
from crowdwise.core import registry as kind_table
from tests.data import ROOT

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "tutorials").glob("*.md")])
MISSING = re.compile(r"\b(?:not (?:yet )?(?:supported|part of|implemented|available)|unsupported)\b", re.IGNORECASE)
# The end of a sentence, a paragraph, or a row of a table.
END = re.compile(r"(?<=\.)\s+|\n\s*\n|\n(?=\|)")
# Words of a page for a kind of answers, where they are not its name.
WORDS = {
    "comparisons": "pairwise|pairs",
    "texts": "free text|texts",
    "outlines": "outlines|segmentations",
    "similarities": "similarities|same or different",
    "sets": "label sets|several labels",
    "rankings": "rankings(?! in several buckets)",
}


def statements(text: str) -> list[str]:
    """Sentences that say that something is not supported."""
    return [" ".join(sentence.split()) for sentence in END.split(text) if MISSING.search(" ".join(sentence.split()))]


def _refuses_prodigy(folder: Path) -> None:
    for view in ("image_manual", "audio_manual"):
        example = {"text": "a", "answer": "accept", "_view_id": view, "_input_hash": 1, "_task_hash": 1}
        _refuses(folder / f"{view}.jsonl", json.dumps(example | {"_annotator_id": "ann"}) + "\n", "prodigy")


def _refuses_buckets(folder: Path) -> None:
    said = {"from_name": "q", "to_name": "t", "type": "ranker", "value": {"ranker": {"a": ["x"], "b": ["y"]}}}
    task = {"id": 1, "data": {"t": "?"}, "annotations": [{"completed_by": 1, "result": [said]}]}
    _refuses(folder / "buckets.json", json.dumps([task]), "label_studio")


def _refuses(path: Path, text: str, form: str) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(cw.CrowdwiseError, match="not supported") as caught:
        cw.read(path, format=form)
    assert "\n" not in str(caught.value)


def _no_twin(_: Path) -> None:
    for name in ("learning", "datasets"):
        assert find_spec(f"crowdwise.compat.crowdkit.{name}") is None
    assert import_module("crowdwise.learn")
    assert import_module("crowdwise.datasets")


# What a statement names, and the check that it is so.
CHECKS = {
    "image_manual": _refuses_prodigy,
    "several buckets": _refuses_buckets,
    "crowdkit.learning": _no_twin,
}


def test_every_statement_is_checked():
    texts = {path: statements(path.read_text(encoding="utf-8")) for path in PAGES}
    unchecked = [
        f"{path.relative_to(ROOT)}: {sentence}"
        for path, sentences in texts.items()
        for sentence in sentences
        if not any(words in sentence for words in CHECKS)
    ]
    assert not unchecked, "\n".join(unchecked)
    every = " ".join(sentence for sentences in texts.values() for sentence in sentences)
    assert [words for words in CHECKS if words not in every] == []


@pytest.mark.parametrize("words", CHECKS)
def test_what_is_not_supported_is_refused(words, tmp_path):
    CHECKS[words](tmp_path)


def test_no_kind_of_answers_is_said_to_be_missing():
    for path in PAGES:
        for sentence in statements(path.read_text(encoding="utf-8")):
            for kind in kind_table.names():
                assert not re.search(rf"\b(?:{WORDS.get(kind, kind)})\b", sentence, re.IGNORECASE), (
                    path.name,
                    sentence,
                )


def test_the_page_lists_every_twin_of_crowd_kit():
    page = (ROOT / "docs" / "migrating.md").read_text(encoding="utf-8")
    assert [name for name in aggregation.__all__ if not re.search(rf"\b{name}\b", page)] == []


@pytest.mark.parametrize(
    "text",
    [
        "Not supported yet, and refused in one line: pairwise comparisons, rankings, spans.",
        "It reads files.\nTexts, embeddings\nand pairs are not part of the drop-in.",
        "Spans are unsupported.",
    ],
)
def test_statements_are_seen(text):
    assert len(statements(text)) == 1
