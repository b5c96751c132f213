"""Parameters are declared once: every one is checked, refused outside its range in one line, typed as it is shown."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.core import method_registry as registry
from crowdwise.core import params as rules
from crowdwise.core.params import REQUIRED, Count, Param, Positive, PositiveShare, Share, ValueType, check, of, read
from crowdwise.core.paramtext import describe, parse, shown
from crowdwise.kinds.classes.learn.classifier import CrowdClassifier
from crowdwise.learn.fitting import method_class, method_parameters
from crowdwise.learn.method import Defaults

if TYPE_CHECKING:
    from decimal import Decimal

GROUPS = (
    simulate.OneCoin, simulate.TwoCoin, simulate.ClassCoins, simulate.DirichletConfusion, simulate.HammerSpammer,
    simulate.PairwiseFlipper, simulate.Constant, simulate.Guesser, simulate.Adversary, simulate.Copier,
    simulate.Colluder, simulate.PerTask, simulate.HeavyTailed, simulate.Regular, simulate.MissingAtRandom,
)  # fmt: skip
METHODS = {name: [*of(registry.get(name)).values()] for name in registry.METHODS}
LEARNERS = {name: [*method_parameters(method_class(name)).values()] for name in registry.LEARNERS}
OTHERS = {cls.__name__: [*of(cls).values()] for cls in (Defaults, CrowdClassifier, *GROUPS)}
ANYTHING = {("CrowdClassifier", "net"), ("CrowdClassifier", "fabric")}


def outside(kind: ValueType) -> list[Any]:
    """Values of the right type that a kind's rules forbid."""
    found: list[Any] = []
    for rule in kind.rules:
        low, high = getattr(rule, "low", -math.inf), getattr(rule, "high", math.inf)
        shut = isinstance(rule, rules.Above | rules.Below)
        step = (lambda x, to: x + math.copysign(1, to)) if kind.base is int else math.nextafter
        found += [low if shut else step(low, -math.inf)] * (low > -math.inf)
        found += [high if shut else step(high, math.inf)] * (high < math.inf)
        found += [(0.5, 0.6), (1.5, -0.5), ()] * isinstance(rule, rules.Proportions)
        found += [(0.6, 0.5)] * isinstance(rule, rules.Ends)
    return found


def wrong(param: Param) -> list[Any]:
    """What a parameter must refuse, as far as its declaration says."""
    bases = {kind.base for kind in param.kinds}
    found = [value for kind in param.kinds for value in outside(kind)]
    if object in bases:
        return found
    found += [object()]
    found += ["no such thing"] * (str not in bases or any(kind.choices for kind in param.kinds))
    found += [None] * (not param.optional)
    if bases & {int, float}:
        found += [True, math.nan, math.inf, -math.inf, "1", [1], 2**2000]
        found += [1.5, 2**63] * (float not in bases)
    return found


# ------------------------------------------------------------------------------------------------- all of them
@pytest.mark.parametrize("owner", [*METHODS, *LEARNERS, *OTHERS])
def test_every_parameter_says_what_it_takes_and_its_default_keeps_to_it(owner):
    for param in (METHODS | LEARNERS | OTHERS)[owner]:
        assert param.kinds
        assert describe(param)
        if (owner, param.name) not in ANYTHING:
            assert all(kind.base is not object or kind.note for kind in param.kinds), param.name
        if param.default is not REQUIRED:
            param.check(param.default)


@pytest.mark.parametrize("name", LEARNERS)
def test_how_a_paper_trains_keeps_to_the_ranges(name):
    for param in OTHERS["Defaults"]:
        param.check(getattr(method_class(name).defaults, param.name))


def refused(make: Callable[..., Any], param: Param) -> None:
    for value in wrong(param):
        with pytest.raises(cw.ParameterError, match=rf"^{param.name} must be .*, got ") as error:
            make(**{param.name: value})
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_refuses_what_lies_outside(name):
    for param in METHODS[name]:
        refused(registry.get(name), param)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_training_method_refuses_what_lies_outside(name):
    cls = method_class(name)
    more = {"n_features": 3} if cls.needs_features else {}
    for param in LEARNERS[name]:
        refused(partial(cls, None, **more), param)


def test_the_classifier_refuses_what_lies_outside():
    votes = cw.Annotations.from_arrays([0, 0, 1, 1], [*"abab"], [*"xxyy"])
    for param in OTHERS["CrowdClassifier"]:
        refused(lambda **given: CrowdClassifier("linear", "ccem").set_params(**given).fit(np.eye(2), votes), param)


@pytest.mark.parametrize("cls", GROUPS)
def test_the_simulator_refuses_what_lies_outside(cls):
    needed = {each.name: 1 for each in of(cls).values() if each.default is REQUIRED}
    for param in of(cls).values():
        refused(lambda **given: cls(**{**needed, **given}), param)


@pytest.mark.parametrize("name", registry.METHODS)
def test_a_parameter_declared_again_keeps_its_range(name):
    cls = registry.get(name)
    for base in cls.__mro__[1:]:
        for each in of(base).values() if base.__dict__.get("__dataclass_fields__") else ():
            assert of(cls)[each.name].kinds == each.kinds, f"{base.__name__}.{each.name}"


# ------------------------------------------------------------------------------------------------- text
@pytest.mark.parametrize("owner", [*METHODS, *LEARNERS])
def test_what_is_shown_can_be_typed_and_what_is_typed_is_checked(owner):
    for param in (METHODS | LEARNERS)[owner]:
        assert parse(param, shown(param.default)) == param.default
        for value in [each for kind in param.kinds for each in outside(kind)]:
            with pytest.raises(cw.ParameterError, match=rf"^{param.name} must be "):
                parse(param, shown(value))


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (Count, "7", 7),
        (Count | None, "None", None),
        (float, "1e-3", 1e-3),
        (bool, "TRUE", True),
        (bool | None, "none", None),
        (str, "none", "none"),
        (Literal["a", "b"], "b", "b"),
        (tuple[str, ...], "['x', \"y\"]", ("x", "y")),
        (tuple[float, ...] | None, "(0.25, 0.75)", (0.25, 0.75)),
        (Literal["a"] | Sequence[float], "a", "a"),
        (Literal["a"] | Sequence[float], "1,2", (1.0, 2.0)),
    ],
)
def test_text_is_read_by_type(hint, text, value):
    found = parse(read("x", hint), text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("hint", "text", "says"),
    [
        (Count, "ten", "x must be a whole number of at least 1, got 'ten'"),
        (Count, "1.5", "x must be a whole number of at least 1, got '1.5'"),
        (Count, "0", "x must be a whole number of at least 1, got 0"),
        (Count | None, "many", "x must be a whole number of at least 1, or None, got 'many'"),
        (Positive, "-2", "x must be above 0, got -2.0"),
        (Positive, "nan", "x must be a finite number, above 0, got nan"),
        (PositiveShare, "2", "x must be above 0 and at most 1, got 2.0"),
        (Share, "half", "x must be a number, between 0 and 1, got 'half'"),
        (bool, "yes", "x must be true or false, got 'yes'"),
        (Literal["a", "b", "c"], "d", "x must be 'a', 'b' or 'c', got 'd'"),
        (tuple[float, ...], "(1,b)", "x must be a list such as (0.5,0.5), got '(1,b)'"),
        (Mapping[str, Any] | None, "a=1", "x is a table of values, which only Python can give"),
    ],
)
def test_text_that_makes_no_sense(hint, text, says):
    with pytest.raises(cw.ParameterError) as error:
        parse(read("x", hint), text)
    assert str(error.value) == says


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (Count, "whole number, at least 1"),
        (Positive | None, "number, above 0, or none"),
        (Annotated[int, rules.Between(2, 9)], "whole number, between 2 and 9"),
        (Literal["a", "b"] | None, "a, b or none"),
        (bool, "true or false"),
        (tuple[float, ...], "list of numbers"),
        (Annotated[tuple[float, ...], rules.Proportions()] | None, "list of positive numbers that sum to 1 or none"),
        (Annotated[tuple[str, ...] | str, rules.Note("a list of names")] | None, "list of names or none"),
    ],
)
def test_words_for_people(hint, words):
    assert describe(read("x", hint)) == words


# ------------------------------------------------------------------------------------------------- reading
def test_lists_are_kept_as_tuples():
    even = cw.classes.MeanField(class_prior=np.array([0.5, 0.5]))
    assert even == cw.classes.MeanField(class_prior=[0.5, 0.5]) == cw.classes.MeanField(class_prior=(0.5, 0.5))
    assert hash(even) == hash(cw.classes.MeanField(class_prior=(0.5, 0.5)))
    assert cw.classes.Committee(members=["wawa", "bwa"]).members == ("wawa", "bwa")
    with pytest.raises(cw.ParameterError, match="members must be a list of names of methods, got 'wawa'"):
        cw.classes.Committee(members="wawa")


def test_a_rule_between_two_parameters_stays_with_the_method():
    assert cw.classes.Gibbs(prior_diagonal=0.5, prior_off=0.1).prior_diagonal == 0.5
    with pytest.raises(cw.ParameterError, match=r"prior_diagonal must be above 1, prior_off, got 0\.5"):
        cw.classes.Gibbs(prior_diagonal=0.5)


def test_numbers_of_numpy_are_numbers():
    assert cw.DawidSkene(max_iter=np.int32(3), tol=np.float32(0.5), accelerate=np.bool_(True)).max_iter == 3


def test_a_plug_in_may_use_names_that_only_a_type_checker_sees():
    @dataclass(frozen=True)
    class Method:
        share: Decimal
        max_iter: Count = 3

    check(Method("0.5"))
    assert list(of(Method)) == ["share", "max_iter"]


def test_a_long_value_is_cut_and_stays_on_one_line():
    with pytest.raises(cw.ParameterError) as error:
        cw.classes.MeanField(class_prior=np.ones((50, 50)))
    assert len(str(error.value)) < 400
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_nothing_is_read_before_a_method_is_made():
    code = (
        "import crowdwise as cw; from crowdwise.core import params; cw.DawidSkene; "
        "assert not params._of.cache_info().currsize; cw.DawidSkene(); cw.DawidSkene(); cw.MajorityVote(); "
        "assert params._of.cache_info().currsize == 2"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
