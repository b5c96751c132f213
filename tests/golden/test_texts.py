"""Texts on the open sets: at least the medoid and ROVER of their pages."""

from __future__ import annotations

from functools import cache

import pytest

from tests.open_sets.texts import scored

pytestmark = pytest.mark.data


@cache
def scores(name, data):
    return scored(name, data)


def test_transcripts():
    assert scores("medoid", "text_speech").wer <= 0.0594
    assert scores("rover", "text_speech").wer <= 0.0594
    assert scores("text_combined", "text_speech").wer <= 0.0555


def test_translations():
    assert scored("medoid", "text_translate", distance="gleu").gleu >= 0.3899
    assert scores("text_combined", "text_translate").gleu >= 0.3899
