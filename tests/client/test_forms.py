"""What a judge writes is read strictly: JSON or one bare class; never a guess."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdwise.client.judging.form import NoVerdict
from crowdwise.client.judging.forms import FORMS, form_of
from crowdwise.core.errors import ParameterError

MOOD = form_of("classes", ("happy", "sad", "so so"))


@pytest.mark.parametrize(
    ("text", "answer", "sure"),
    [
        ('{"verdict": "happy"}', "happy", None),
        ('{"verdict": "Sad", "confidence": 0.8}', "sad", 0.8),
        ('{"answer": "so so", "confidence": 7}', "so so", None),  # an odd confidence costs no verdict
        ('```json\n{"label": "sad", "why": "tears"}\n```', "sad", None),
        ("happy", "happy", None),
        (' "So so."\n', "so so", None),
        ("**sad**", "sad", None),
    ],
)
def test_what_can_be_told_is_taken(text, answer, sure):
    assert MOOD.parse(text) == (answer, sure)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("I think it is happy", "names no class"),
        ("happy or sad", "names no class"),
        ("happy\nsad", "names no class"),
        ('{"verdict": "angry"}', "names no class"),
        ('{"verdict": "happy", "verdict": "sad"}', "twice"),
        ('{"verdict": "happy", "answer": "sad"}', "several"),
        ('{"mood": "happy"}', "without a verdict"),
        ('{"verdict": null}', "null"),
        ('{"verdict": ["happy"]}', "no text"),
        ('["happy"]', "without a verdict"),
        ('{"verdict": "happy"', "malformed"),
        ('{"verdict": "happy"} because of the sun', "malformed"),
        ('Sure! ```json\n{"verdict": "happy"}\n```', "names no class"),
        ("[" * 100_000, "malformed"),
    ],
)
def test_what_cannot_be_told_has_a_reason(text, why):
    with pytest.raises(NoVerdict, match=why):
        MOOD.parse(text)


@given(st.text())
def test_only_classes_come_out(text):
    try:
        answer = MOOD.parse(text)[0]
    except NoVerdict:
        return
    assert answer in ("happy", "sad", "so so")


@given(st.sampled_from(["happy", "sad", "so so"]), st.none() | st.floats(0, 1))
def test_every_answer_comes_back(label, sure):
    text = json.dumps({"verdict": label} | ({} if sure is None else {"confidence": sure}))
    assert MOOD.parse(text) == (label, sure)


def test_case_matters_where_it_must():
    form = form_of("classes", ("us", "US", "them"))
    assert form.parse("US") == ("US", None)
    with pytest.raises(NoVerdict):
        form.parse("Us")


def test_classes_that_are_no_text():
    form = form_of("classes", ("0", "1", "true"))
    assert form.parse('{"verdict": 1}') == ("1", None)
    assert form.parse('{"verdict": true}') == ("true", None)
    with pytest.raises(NoVerdict):
        form.parse('{"verdict": 1.5}')


def test_other_kinds():
    sets = form_of("sets", ("a", "b"))
    assert sets.parse('{"verdict": ["b", "A"]}') == (["b", "a"], None)
    assert sets.parse('{"verdict": []}') == ([], None)
    for text in ("a", '{"verdict": "a"}', '{"verdict": ["a", "a"]}', '{"verdict": ["c"]}'):
        with pytest.raises(NoVerdict):
            sets.parse(text)
    number = form_of("numbers", (), {"low": 0, "high": 10})
    assert number.parse("7.5") == (7.5, None)
    for text in ("11", '{"verdict": "NaN"}', '{"verdict": true}', "about 7", '{"verdict": 1e999}'):
        with pytest.raises(NoVerdict):
            number.parse(text)
    pair = form_of("comparisons")
    assert pair.parse("tie") == ("tie", None)
    assert not form_of("comparisons", (), {"tie": False}).takes("tie")
    assert form_of("similarities").parse("Different") == ("different", None)


def test_what_cannot_be_asked_is_said():
    with pytest.raises(ParameterError, match="boxes"):
        form_of("boxes")
    with pytest.raises(ParameterError, match="two classes"):
        form_of("classes", ("only",))
    assert set(FORMS) == {"classes", "ordered", "sets", "numbers", "comparisons", "similarities", "rankings", "spans"}
