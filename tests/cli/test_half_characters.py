"""Half a character, which JSON can spell and no table can hold: read as the replacement character, and said so."""

from __future__ import annotations

import io
import zipfile

import polars as pl
import pytest

import crowdwise as cw
from crowdwise.io.json.text import loads, replace_half_character_bytes, replace_half_characters

from ..exports import SAMPLES, packed

HALF = b"\\ud83d"
JSON = {name: s for name, s in SAMPLES.items() if s.name.endswith((".json", ".jsonl")) or "json" in name}
ZIPS = {name: s for name, s in SAMPLES.items() if s.format in ("doccano", "potato") and s.name.endswith(".zip")}
PLAIN = b'{"task": "t1", "worker": "ann", "label": "pos"}\n{"task": "t1", "worker": "bob", "label": "neg"}\n'


def broken(content: bytes, old: bytes) -> bytes:
    """Every text that ends like this, with half a character before its end."""
    return content.replace(old + b'"', old + HALF + b'"')


def cases():
    yield "plain", "e.jsonl", lambda old: broken(PLAIN, old), []
    for name, sample in JSON.items():
        yield name, sample.name, lambda old, sample=sample: broken(sample.content, old), sample.arguments
    for name, sample in ZIPS.items():
        with zipfile.ZipFile(io.BytesIO(sample.content)) as archive:
            files = {each: archive.read(each) for each in archive.namelist()}
        yield name, sample.name, lambda old, files=files: packed({n: broken(c, old) for n, c in files.items()}), []


@pytest.mark.slow
@pytest.mark.parametrize("what", [b"pos", b"t1", b"ann"])
@pytest.mark.parametrize(("file", "make", "arguments"), [c[1:] for c in cases()], ids=[c[0] for c in cases()])
def test_half_a_character_is_replaced_and_said(crowdwise_cli, tmp_path, file, make, arguments, what):
    (tmp_path / file).write_bytes(make(what))
    votes = cw.read(tmp_path / file, **_options(arguments))
    names = pl.concat([votes.tasks, votes.workers, votes.classes]).to_list()
    assert any("\ufffd" in name for name in names) == any("hold \ufffd" in note for note in votes.ledger.notes)
    for command in (["inspect"], ["aggregate", "-m", "majority_vote"]):
        code, out, err = crowdwise_cli(*command, tmp_path / file, *arguments)
        assert code == 0, err
        assert "Traceback" not in err
        if any("\ufffd" in name for name in names):
            assert "hold \ufffd for a character that is lost" in out + err


def _options(arguments):
    return {key.removeprefix("--"): value for key, value in zip(arguments[::2], arguments[1::2], strict=True)}


def test_every_kind_of_name_is_hit_somewhere(tmp_path):
    hit = {"task": 0, "worker": 0, "label": 0}
    for _, file, make, arguments in cases():
        for role, what in (("task", b"t1"), ("worker", b"ann"), ("label", b"pos")):
            (tmp_path / file).write_bytes(make(what))
            notes = cw.read(tmp_path / file, **_options(arguments)).ledger.notes
            hit[role] += any(f"values of {role} hold" in note for note in notes)
    assert min(hit.values()) >= 8, hit


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\ud83d"', "\ufffd"),
        (r'"\ude00\ud83d"', "\ufffd\ufffd"),
        (r'"\uD83Dx\uDE00"', "\ufffdx\ufffd"),
        (r'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"),
        (r'"\\ud83d"', "\\ud83d"),
        (r'"\\\ud83d"', "\\\ufffd"),
        (r'{"a\ud83d": ["\udfff"]}', {"a\ufffd": ["\ufffd"]}),
    ],
)
def test_only_halves_are_replaced(text, value):
    assert loads(text) == value
    assert replace_half_character_bytes(text.encode()) == replace_half_characters(text).encode()


def test_two_keys_that_become_one_are_refused():
    with pytest.raises(ValueError, match="occurs twice"):
        loads(r'{"\ud83d": 1, "\ud83e": 2}')


def test_a_frame_with_half_a_character_is_refused():
    with pytest.raises(cw.DataError, match=r"worker holds .* half a character"):
        cw.Annotations.from_arrays(["t"], ["a\ud83d"], ["x"])
