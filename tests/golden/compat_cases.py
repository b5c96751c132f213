"""The cases on which crowd-kit 1.4.2 and the drop-in are compared, and their results as plain values.

    python tests/golden/compat_cases.py crowdkit N_TABLES OUT.json

runs N_TABLES random small tables through crowd-kit, in an environment of its own;
`compat_crowdkit.json` holds the first 8 tables (MMSR: the first only), floats to eight digits; crowd-kit 1.4.2, pandas
2.3.3, numpy 2.4.6, scikit-learn 1.9.1. From scikit-learn 1.8 on crowd-kit's Wawa, ZeroBasedSkill and GoldMajorityVote
crash in predict; the switch in `all_results` lets them run there too. Under pandas 3 ties of crowd-kit's plain votes go
by appearance, under pandas 2 and here by sorted order: `live_tables` are named so that the two are one.
Nothing of crowdwise is imported here.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings

import numpy as np
import pandas as pd

CONSTRUCTORS = {
    "MajorityVote": {},
    "Wawa": {},
    "ZeroBasedSkill": {},
    "GoldMajorityVote": {},
    "DawidSkene": {},
    "DawidSkene gold": {},
    "DawidSkene assign": {"initial_error_strategy": "assign"},
    "DawidSkene addition": {"initial_error_strategy": "addition", "n_iter": 1},
    "OneCoinDawidSkene": {},
    "GLAD": {},
    "KOS": {"n_iter": 10},
    "MACE": {"n_restarts": 1},
    "MACE em": {"n_restarts": 1, "method": "em"},
    "MMSR": {},
    "BinaryRelevance": {},
}
# crowd-kit's GLAD takes seconds on a small table and minutes on a large one; BinaryRelevance renames labels to 0 and 1.
QUICK = [name for name in CONSTRUCTORS if name not in ("GLAD", "MMSR", "BinaryRelevance")]


def small_table(seed: int) -> pd.DataFrame:
    """A crowd with gaps, good and bad workers, text or numbers as labels, rows in any order, every worker heard."""
    rng = np.random.default_rng(seed)
    n, m, k = (int(rng.integers(low, high)) for low, high in ((4, 15), (3, 8), (2, 5)))
    truth = rng.integers(k, size=n)
    skill = rng.uniform(0.2 if seed % 4 == 0 else 0.5, 1.0, m)
    rows = [(i, w) for i in range(n) for w in rng.permutation(m)[: rng.integers(1, m + 1)]]
    label = [int(truth[i]) if rng.random() < skill[w] else int(rng.integers(k)) for i, w in rows]
    names = [5, 2, 9, 4] if seed % 3 == 0 else ["cat", "ant", "dog", "bee"]
    columns = {
        "task": [f"t{i}" if seed % 2 else i for i, _ in rows],
        "worker": [f"w{w}" for _, w in rows],
        "label": [names[x] for x in label],
    }
    frame = pd.DataFrame(columns)
    return frame.sample(frac=1.0, random_state=seed).reset_index(drop=True)


def good_table(seed: int) -> pd.DataFrame:
    """Good workers who all label all tasks: what MMSR can be compared on (see its docstring)."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=40)
    rows = [(i, w) for i in range(40) for w in range(7)]
    label = [int(truth[i]) if rng.random() < 0.65 + 0.04 * w else int(rng.integers(3)) for i, w in rows]
    return pd.DataFrame({"task": [i for i, _ in rows], "worker": [w for _, w in rows], "label": label})


def renamed(frame: pd.DataFrame, columns: tuple[str, ...] = ("worker", "label")) -> pd.DataFrame:
    """Workers and labels named by first appearance, so that sorted order and order of appearance are the same."""
    out = frame.copy()
    for name in columns:
        out[name] = [f"{name}{code:06d}" for code in pd.factorize(out[name])[0]]
    return out


def fit(module: object, name: str, frame: pd.DataFrame) -> object:
    """One fitted aggregator of one case."""
    model = getattr(module, name.partition(" ")[0])(**CONSTRUCTORS[name])
    truth = frame.groupby("task")["label"].agg(lambda x: x.iloc[0])
    if name == "GoldMajorityVote":
        model.fit_predict(frame, truth)
    elif name == "DawidSkene gold":
        model.fit_predict(frame, truth.iloc[: len(truth) // 3])
    elif name in ("DawidSkene assign", "DawidSkene addition"):
        model.fit_predict(frame, initial_error=history(frame, 1.0 if name.endswith("assign") else 20.0))
    elif name == "BinaryRelevance":  # every worker also says what the row below says
        pairs = zip(frame["label"], frame["label"].shift(-1, fill_value=frame["label"].iloc[0]), strict=True)
        model.fit_predict(frame.assign(label=[[*{a, b}] for a, b in pairs]))
    elif name == "MMSR":
        model.fit_predict(good_table(len(frame)))
    else:
        model.fit_predict(renamed(frame) if name.startswith("MACE") else frame)
    return model


def history(frame: pd.DataFrame, size: float) -> pd.DataFrame:
    """Error matrices of good workers, for every worker and label."""
    workers, labels = sorted(frame["worker"].unique()), sorted(frame["label"].unique())
    index = pd.MultiIndex.from_product([workers, labels], names=["worker", "label"])
    wrong = 0.3 / max(len(labels) - 1, 1)
    values = np.where(np.eye(len(labels), dtype=bool), 1 - wrong * (len(labels) - 1), wrong) * size
    return pd.DataFrame(np.tile(values, (len(workers), 1)), index=index, columns=labels)


def plain(value: object) -> object:
    """Series, frames and arrays as JSON: names, dtype, order and values, floats to eight digits."""
    if isinstance(value, pd.Series):
        return {"name": value.name, "of": kind(value.dtype), "by": list(value.index.names), **cells(value)}
    if isinstance(value, pd.DataFrame):
        columns = {str(c): cells(value[c])["is"] for c in value.columns}
        return {
            "by": list(value.index.names),
            "axis": value.columns.name,
            "at": cells(value.iloc[:, 0])["at"],
            "is": columns,
        }
    return [plain(v) for v in value] if isinstance(value, list | np.ndarray) else round(float(value), 8)


def kind(dtype: object) -> str:
    return "text" if str(dtype) in ("str", "object", "string") else str(dtype)


def cells(series: pd.Series) -> dict:
    index = [list(map(str, at)) if isinstance(at, tuple) else str(at) for at in series.index]
    values = [", ".join(map(str, v)) if isinstance(v, list) else v for v in series.tolist()]
    return {"at": index, "is": [round(v, 8) if isinstance(v, float) else str(v) for v in values]}


def results(module: object, frame: pd.DataFrame, names: list[str]) -> dict:
    """Every fitted attribute of every method; where a method fails, the name of its error."""
    found: dict = {}
    for name in names:
        if name == "KOS" and frame["label"].nunique() != 2:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = fit(module, name, frame)
            public = {a: v for a, v in vars(model).items() if a.endswith("_") and not a.startswith("_")}
            unnamed = ("tasks_", "workers_", "prior_labels_", "alphas_priors_mean_", "betas_priors_mean_",
                       "aggregators_")  # fmt: skip
            found[name] = {a: plain(v) for a, v in sorted(public.items()) if a not in unnamed}
            if "loss_history_" in public:
                found[name]["loss_history_"] = len(public["loss_history_"])
        except Exception as error:
            found[name] = {"error": type(error).__name__}
    return found


def real_table(path: str) -> pd.DataFrame:
    """A crowd from a file."""
    return pd.read_csv(path, dtype=str)[["task", "worker", "label"]]


def live_tables(n_tables: int, files: list[str]) -> list[pd.DataFrame]:
    """Random tables and those of the files, named by first appearance."""
    tables = [small_table(seed) for seed in range(n_tables)] + [real_table(path) for path in files]
    return [renamed(table, ("task", "worker", "label")) for table in tables]


def all_results(package: str, tables: list[pd.DataFrame], names: list[str]) -> list[dict]:
    module = importlib.import_module(f"{package}.aggregation")
    if package == "crowdkit":
        for part in ("wawa", "zero_based_skill", "gold_majority_vote"):
            home = importlib.import_module(f"crowdkit.aggregation.classification.{part}")
            home.check_is_fitted = lambda *_, **__: None
    return [results(module, table, names) for table in tables]


if __name__ == "__main__":
    frames = [small_table(seed) for seed in range(int(sys.argv[2]))]
    with open(sys.argv[3], "w") as out:
        json.dump(all_results(sys.argv[1], frames, list(CONSTRUCTORS)), out, separators=(",", ":"))
