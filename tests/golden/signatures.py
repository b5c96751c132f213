"""Names and defaults of crowd-kit's constructors, methods, functions and fitted attributes, as plain values.

    python tests/golden/signatures.py crowdkit tests/golden/crowdkit_signatures.json

runs in an environment of its own with crowd-kit 1.4.2; the test runs `signatures` on our twin. Arguments of MMSR's
constructor that only carry its private state (attrs makes them of `_observation_matrix` and the like) are left out.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys

CLASSES = (
    "BinaryRelevance", "DawidSkene", "GLAD", "GoldMajorityVote", "KOS", "MACE", "MMSR", "MajorityVote",
    "OneCoinDawidSkene", "Wawa", "ZeroBasedSkill",
)  # fmt: skip
METHODS = ("fit", "predict", "predict_proba", "predict_score", "fit_predict", "fit_predict_proba", "fit_predict_score")
FUNCTIONS = {
    "metrics.data": ("alpha_krippendorff", "consistency", "uncertainty"),
    "metrics.workers": ("accuracy_on_aggregates",),
    "postprocessing": ("entropy_threshold",),
    "aggregation.utils": (
        "add_skills_to_data", "clone_aggregator", "evaluate", "evaluate_equal", "evaluate_in", "factorize",
        "get_accuracy", "get_most_probable_labels", "manage_data", "named_series_attrib", "normalize_rows",
    ),
}  # fmt: skip


def arguments(function: object, leave_out: frozenset[str] = frozenset()) -> list[list[object]]:
    """[name, default]; a default that is no plain value is "..."."""
    found = []
    for each in inspect.signature(function).parameters.values():
        if each.name == "self" or each.name in leave_out:
            continue
        default = each.default
        if default is each.empty:
            found.append([each.name])
        else:
            found.append([each.name, default if isinstance(default, int | float | str | None) else "..."])
    return found


def attributes(kind: type) -> list[str]:
    """Public names that end in an underscore and are declared in the class or one that it is made of."""
    named = {name for each in kind.__mro__ for name in getattr(each, "__annotations__", {})}
    return sorted(name for name in named if name.endswith("_") and not name.startswith("_"))


def signatures(package: str) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    aggregation = importlib.import_module(f"{package}.aggregation")
    for name in CLASSES:
        kind = getattr(aggregation, name)
        private = frozenset(
            field.name.lstrip("_") for field in getattr(kind, "__attrs_attrs__", ()) if field.name.startswith("_")
        )
        found[name] = {"init": arguments(kind, private), "attributes": attributes(kind)}
        found[name] |= {method: arguments(getattr(kind, method)) for method in METHODS if hasattr(kind, method)}
    for module, functions in FUNCTIONS.items():
        home = importlib.import_module(f"{package}.{module}")
        found |= {name: {"call": arguments(getattr(home, name))} for name in functions}
    return found


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        json.dump(signatures(sys.argv[1]), out, indent=1)
        out.write("\n")
