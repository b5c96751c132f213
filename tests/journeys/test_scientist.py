"""A social scientist has a sheet of ratings by coders: three commands lead to agreement, workers and estimates."""

from __future__ import annotations

import json

import krippendorff
import numpy as np
import polars as pl
import pytest

import crowdwise as cw

CODERS, TEXTS = 6, 120


@pytest.fixture
def sheet(tmp_path):
    """Ratings from 1 to 7 beside the statement, its year and remarks; the last coder does not read the statements."""
    rng = np.random.default_rng(5)
    truth = rng.integers(1, 8, TEXTS)
    columns = {
        "ID": [f"A{i:03}" for i in range(TEXTS)],
        "Aussage": [f"Die Partei hat im Jahr {1949 + i} gegen Antrag {i} gestimmt" for i in range(TEXTS)],
        "Jahr": [str(1949 + i) for i in range(TEXTS)],
    }
    table = np.full((CODERS, TEXTS), np.nan)
    for k in range(CODERS):
        noisy = np.clip(np.rint(truth + rng.normal(0, 0.6 + 0.1 * k, TEXTS)), 1, 7)
        table[k] = rng.integers(1, 8, TEXTS) if k == CODERS - 1 else noisy
        cells = [f"{value:.0f}" for value in table[k]]
        for i in rng.choice(TEXTS, 6, replace=False):
            cells[i], table[k, i] = "k.A.", np.nan
        columns[f"Kodierer {k + 1}"] = cells
    columns["Anmerkung"] = ["unklar" if i % 9 == 0 else "" for i in range(TEXTS)]
    path = tmp_path / "Ratings Welle 1.csv"
    path.write_bytes("\ufeff".encode() + pl.DataFrame(columns).write_csv(separator=";").encode())
    return path, table, truth


def test_three_commands(sheet, tmp_path, crowdwise_cli):
    path, table, truth = sheet
    alpha = {
        level: krippendorff.alpha(table, level_of_measurement=level) for level in ("nominal", "ordinal", "interval")
    }
    # What is not an answer is asked about before it becomes a class.
    code, out, err = crowdwise_cli("inspect", path, "--workers", "Kodierer*")
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert "'k.A.' (36)" in err
    assert "--missing k.A." in err
    options = ("--workers", "Kodierer*", "--missing", "k.A.")

    # 1: what is in the sheet; the question of the scale is asked, with the three answers side by side.
    code, out, err = crowdwise_cli("inspect", path, *options, "--json")
    assert code == 0, err
    facts = json.loads(out)
    assert (facts["tasks"], facts["workers"], facts["classes"]) == (TEXTS, CODERS, 7)
    assert facts["alpha_by_level"] == pytest.approx(alpha)
    assert any("without a stated order" in line for line in facts["advice"])

    # 2: the coders, and the one who did not read.
    code, out, err = crowdwise_cli("workers", path, *options, "--order", "numbers", "--json")
    assert code == 0, err
    study = json.loads(out)
    value = next(c["value"] for c in study["agreement"] if c["name"] == "Krippendorff's alpha, ordinal")
    assert value == pytest.approx(alpha["ordinal"])
    assert {flag["worker"] for flag in study["flags"]} == {"Kodierer 6"}

    # 3: the ratings, with what the sheet says about each statement.
    code, out, err = crowdwise_cli("aggregate", path, *options, "--kind", "numbers", "-o", tmp_path / "run")
    assert code == 0, err
    run = cw.Run.load(tmp_path / "run")
    estimate = run.result.to_table().sort("task")["value"].to_numpy()
    plain = np.nanmean(table, axis=0)
    assert np.abs(estimate - truth).mean() < np.abs(plain - truth).mean()
    about = run.votes.about_tasks
    assert about is not None
    assert about.columns == ["task", "Aussage", "Jahr", "Anmerkung"]


def test_without_names_text_and_remarks_are_no_coders(sheet, crowdwise_cli):
    path, _, _ = sheet
    frame = pl.read_csv(path, separator=";", infer_schema=False)
    path.write_bytes(frame.drop("Jahr").write_csv(separator=";").encode())
    code, out, err = crowdwise_cli("inspect", path, "--format", "wide", "--missing", "k.A.", "--json")
    assert code == 0, err
    assert json.loads(out)["workers"] == CODERS
    assert "about the tasks, not workers: 'Aussage', 'Anmerkung'" in " ".join(json.loads(out)["ledger"]["notes"])
    path.write_bytes(frame.write_csv(separator=";").encode())
    code, _, err = crowdwise_cli("inspect", path, "--format", "wide", "--missing", "k.A.")
    assert code == 2
    assert "column 'Jahr' shares no value with the others" in err
    assert "--workers" in err
