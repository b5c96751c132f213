"""The docs' parameters are the code's: names, what they take, defaults, in the tables and in the sentences."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields

import pytest

from crowdwise.core import method_registry as registry
from crowdwise.core.params import of
from crowdwise.core.paramtext import parse

from .parameters import TABLE, of_learner, page_of, section_of, table

STALE = "the table is not the code's; `python -m tests.docs.parameters` writes it again"
# `tol` (1e-8, relative change): what stands first in the brackets is the default.
SAID = re.compile(r"`(\w+)` \((-?[\d,]*\.?\d+(?:e-?\d+)?|None|True|False|\"\w+\")(?=[),:; ])")


def said(text: str) -> list[tuple[str, str]]:
    return [(name, default.replace(",", "").strip('"')) for name, default in SAID.findall(TABLE.sub("", text))]


@pytest.mark.parametrize("name", registry.METHODS)
def test_a_page_lists_the_parameters_of_its_method(name):
    text, params = page_of(name).read_text(encoding="utf-8"), of(registry.get(name))
    assert TABLE.findall(text) == [table(params.values())], STALE
    told = re.search(r"^\*\*Parameters\.\*\*(?:.+\n)+", text, re.M).group(0)
    for parameter, default in said(told):
        assert parse(params[parameter], default) == params[parameter].default, parameter


@pytest.mark.parametrize("name", registry.LEARNERS)
def test_a_section_lists_the_parameters_of_its_training_method(name):
    text, params = section_of(name), {each.name: each for each in of_learner(name)}
    assert "".join(TABLE.findall(text)) == table(params.values()), STALE
    for parameter, default in said(text):
        assert parse(params[parameter], default) == params[parameter].default, parameter


def test_the_sentences_are_read():
    assert said('`tol` (1e-8, gain), `n` (1,000), `init` ("mace"; a name), `k` (None: all), `lr` (.05)') == [
        ("tol", "1e-8"), ("n", "1000"), ("init", "mace"), ("k", "None"), ("lr", ".05"),
    ]  # fmt: skip


def described(cls) -> set[str]:
    """The parameters that the docstring of a class describes under `Args:`."""
    section = re.search(r"^Args:\n((?:    .*\n?|\n)*)", inspect.cleandoc(vars(cls).get("__doc__") or ""), re.M)
    return set(re.findall(r"^    (\w+):", section[1], re.M)) if section else set()


@pytest.mark.parametrize("name", sorted(registry.cards()))
def test_a_docstring_describes_every_parameter(name):
    """The docstring of the class, or of the base class that declares the parameter."""
    cls = registry.get(name)
    assert {field.name for field in fields(cls)} <= set().union(*(described(base) for base in cls.__mro__))
