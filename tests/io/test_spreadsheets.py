"""Tables as people have them: workbooks, decimal commas, 3.0 for 3, NA for nothing, and columns of other names."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from xml.sax.saxutils import escape

import polars as pl
import pytest

import crowdwise as cw
from crowdwise.core.vocabulary import short_numerals, spelt_like

HEADER = ("Item", "Coder", "Rating")
ROWS = [(1, "ann", 3.0), (1, "bob", 4), ("007", "ann", 3), (2, "bob", None)]


def workbook(*sheets) -> bytes:
    """An .xlsx by hand: each sheet is a list of rows of numbers and texts."""
    kind = "http://schemas.openxmlformats.org/"
    main, rel = f"{kind}spreadsheetml/2006/main", f"{kind}officeDocument/2006/relationships"
    package, content = f"{kind}package/2006/relationships", f"{kind}package/2006/content-types"
    office = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{content}"><Default Extension="rels" ContentType='
        f'"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType='
        f'"application/xml"/><Override PartName="/xl/workbook.xml" ContentType="{office}.sheet.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}"><Relationship Id="r1" Type="{rel}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{rel}"><sheets>'
        + "".join(f'<sheet name="S{i}" sheetId="{i}" r:id="r{i}"/>' for i in range(1, len(sheets) + 1))
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}">'
        + "".join(
            f'<Relationship Id="r{i}" Type="{rel}/worksheet" Target="worksheets/sheet{i}.xml"/>'
            for i in range(1, len(sheets) + 1)
        )
        + "</Relationships>",
    }
    for i, rows in enumerate(sheets, 1):
        lines = "".join(
            f'<row r="{n}">' + "".join(cell(f"{'ABCDEFGH'[j]}{n}", value) for j, value in enumerate(row)) + "</row>"
            for n, row in enumerate(rows, 1)
        )
        parts[f"xl/worksheets/sheet{i}.xml"] = f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>'
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return file.getvalue()


def cell(place: str, value) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


# ------------------------------------------------------------------------------------------------ workbooks
def test_a_workbook_is_read_as_it_looks(tmp_path):
    pytest.importorskip("fastexcel")
    path = tmp_path / "votes.xlsx"
    path.write_bytes(workbook([HEADER, *ROWS], [("nothing",)]))
    reading = cw.read_all(path, kind="classes")
    votes = reading.annotations
    assert reading.format == "excel"
    assert votes.tasks.to_list() == ["007", "1", "2"]
    assert votes.classes.to_list() == ["3", "4"]
    assert dict(votes.ledger.dropped) == {"no label": 1}
    assert "the workbook has 2 sheets; the first, 'S1', is read" in votes.ledger.notes
    (tmp_path / "gold.xlsx").write_bytes(workbook([("Document", "Truth"), ("007", 3.0)]))
    assert cw.read_truth(tmp_path / "gold.xlsx").rows() == [("007", "3")]
    path.write_bytes(workbook([("task", "ann", "bob"), (1, "x", "y"), (2, None, "x")]))
    assert len(cw.read(path, format="wide")) == 3


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (workbook([("task", "worker", "label"), ("t", "w", "x")])[:-30], "votes.xlsx"),
        (workbook([]), "votes.xlsx: the first sheet, 'S1', is empty"),
        (b"PK\x03\x04 and no more", "votes.xlsx is not a zip archive"),
        (b"task,worker,label\n", "votes.xlsx is not an Excel workbook; use --format csv"),
    ],
)
def test_broken_workbooks_are_data_errors(tmp_path, content, said):
    pytest.importorskip("fastexcel")
    path = tmp_path / "votes.xlsx"
    path.write_bytes(content)
    with pytest.raises(cw.DataError, match=said):
        cw.read(path)


def test_a_stray_cell_far_away_is_refused_before_it_fills_the_memory(tmp_path):
    pytest.importorskip("fastexcel")
    sheet = workbook([("task", "worker", "label"), ("t", "w", "x")])
    with zipfile.ZipFile(io.BytesIO(sheet)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["xl/worksheets/sheet1.xml"] = parts["xl/worksheets/sheet1.xml"].replace(b'r="C2"', b'r="XFD1048576"')
    with zipfile.ZipFile(tmp_path / "votes.xlsx", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(cw.DataError, match=r"votes\.xlsx: its cells reach to row 1,048,576 and column 16,384"):
        cw.read(tmp_path / "votes.xlsx")


def test_without_fastexcel_a_workbook_says_what_to_do(tmp_path, monkeypatch, crowdwise_cli):
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    path = tmp_path / "votes.xlsx"
    path.write_bytes(workbook([HEADER, *ROWS]))
    code, out, err = crowdwise_cli("aggregate", path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "pip install 'crowdwise[excel]'; or save the sheet as CSV" in err


# ------------------------------------------------------------------------------------------------ numbers
def test_short_numerals():
    given = ["3.0", "3", "3,00", "-1.50", "0.0", "10", "100.0", "007", "1e5", "1.0.0", "a", " 2.0 ", "+4.0", ".5", None]
    short = ["3", "3", "3", "-1.5", "0", "10", "100", "007", "1e5", "1.0.0", "a", "2", "+4", ".5", None]
    assert short_numerals(pl.Series(given)).to_list() == short


def test_labels_from_a_file_are_those_of_the_frame(tmp_path):
    for labels, classes in (([3.0, None, 4.0], ["3", "4"]), ([1.0, 1.5, 2.0], ["1.0", "1.5", "2.0"])):
        frame = pl.DataFrame({"task": ["a", "b", "c"], "worker": ["w"] * 3, "label": labels})
        frame.write_csv(tmp_path / "v.csv")
        assert cw.read(tmp_path / "v.csv", kind="classes").classes.to_list() == classes
        assert [str(c) for c in cw.Annotations.from_frame(frame).classes.to_list()] == classes
    for text, classes in (("v1.0\nv2.0", ["v1.0", "v2.0"]), ("3,0\n3,5", ["3", "3.5"]), ("01.0\n2.0", ["01.0", "2.0"])):
        rows = "".join(f"t{i};w;{label}\n" for i, label in enumerate(text.split()))
        (tmp_path / "v.csv").write_text("task;worker;label\n" + rows)
        assert cw.read(tmp_path / "v.csv", kind="classes").classes.to_list() == classes
    (tmp_path / "v.csv").write_text('task,worker,label\nt,w,"3,0"\n')
    assert cw.read(tmp_path / "v.csv").classes.to_list() == ["3,0"]  # in a file with commas it may be a list


def test_decimal_commas_in_numbers(tmp_path):
    (tmp_path / "v.csv").write_text("task;worker;label;weight;duration\nt1;a;x;0,5;2,25\nt1;b;y;1;\n")
    votes = cw.read(tmp_path / "v.csv", columns={"weight": "weight"})
    assert votes.weight.tolist() == [0.5, 1]
    assert votes.duration[0] == 2.25


def test_truth_may_spell_a_number_in_another_way():
    assert spelt_like(pl.Series(["3.0", "4", "x"]), pl.Series(["3", "4.0"])).to_list() == ["3", "4.0", "x"]
    assert spelt_like(pl.Series(["3.0"]), pl.Series(["3", "3,0"])).to_list() == ["3.0"]  # two are meant: neither is
    assert spelt_like(pl.Series(["007"]), pl.Series(["7"])).to_list() == ["007"]
    votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], ["3", "3", "4", "4"])
    result = cw.MajorityVote().fit(votes)
    assert cw.evaluate(result, {1: "3.0", 2: "4.0"}).accuracy == 1
    assert cw.DawidSkene().fit(votes, gold={1: "3.0"}).gold.tolist() == [True, False]


# ------------------------------------------------------------------------------------------------ NA
def test_empty_cells_of_a_wide_table_are_counted_right(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("task,ann,bob\nt1,x,NA\nt2,y,x\nt3,NA,NA\n")
    plain = cw.read(path, format="wide")
    assert "0 of 6 cells are empty" in plain.ledger.notes[0]
    assert "class 'NA' (3 labels) reads like a missing value" in plain.ledger.notes[1]
    votes = cw.read(path, format="wide", missing=["NA"])
    assert "3 of 6 cells are empty" in votes.ledger.notes[0]
    assert (len(votes), votes.n_tasks, votes.classes.to_list()) == (3, 3, ["x", "y"])
    matrix = [["x", "NA"], ["-", "x"]]
    assert len(cw.Annotations.from_matrix(matrix, missing=["NA", "-"])) == 2
    assert len(cw.Annotations.from_matrix(matrix, missing="NA")) == 3


def test_missing_values_of_arrays_and_frames():
    columns = {"task": ["a", "a", "b"], "worker": ["x", "y", "x"], "label": [1, -1, 1]}
    assert cw.Annotations.from_frame(columns, missing=[-1]).classes.to_list() == [1]
    votes = cw.Annotations.from_arrays(["a", "NA"], ["x", "x"], ["y", "y"], missing=["NA"])
    assert dict(votes.ledger.dropped) == {"no task": 1}
    noted = cw.Annotations.from_frame({"task": [1, 2], "worker": [1, 1], "label": ["N/A", "y"]}).ledger.notes
    assert [note[:12] for note in noted] == ["class 'N/A' "]
    with pytest.raises(cw.ParameterError, match=r"missing must be a list of values, got 'NA'; write \['NA'\]"):
        cw.read("votes.csv", missing="NA")


def test_na_in_the_truth_asks(tmp_path):
    (tmp_path / "t.csv").write_text("task,label\na,x\nb,NA\n")
    with pytest.warns(
        cw.errors.LedgerWarning, match=r"t\.csv: the true label 'NA' reads like a missing value.*--missing NA"
    ):
        assert len(cw.read_truth(tmp_path / "t.csv")) == 2
    with pytest.warns(cw.errors.LedgerWarning, match="1 rows without a task or a label"):
        assert cw.read_truth(tmp_path / "t.csv", missing=["NA"]).rows() == [("a", "x")]


# ------------------------------------------------------------------------------------------------ columns of the truth
@pytest.mark.slow
def test_gold_and_truth_take_columns(tmp_path, crowdwise_cli):
    votes = [("t1", "a", 3), ("t1", "b", 3), ("t2", "a", 4), ("t2", "b", 3), ("t3", "a", 4), ("t3", "b", 4)]
    rows = "".join(f"{t},{w},{c}\n" for t, w, c in votes)
    (tmp_path / "votes.csv").write_text("Item,Coder,Rating\n" + rows)
    (tmp_path / "known.csv").write_text("photo,first,expert\nt1,4,3.0\nt2,3,4.0\nt3,3,4.0\n")
    mapping = "task=photo,label=expert"
    fit = ("aggregate", tmp_path / "votes.csv", "-m", "dawid_skene", "-o")
    assert crowdwise_cli(*fit, tmp_path / "run")[0] == 0
    code, out, err = crowdwise_cli(
        "evaluate", tmp_path / "run", "--truth", tmp_path / "known.csv", "--truth-columns", mapping, "--json"
    )
    assert (code, json.loads(out)["n"]) == (0, 3), err
    assert json.loads(out)["classes"] == ["3", "4"]
    known = ("--gold", tmp_path / "known.csv", "--gold-columns", mapping)
    code, out, err = crowdwise_cli(*fit, tmp_path / "told", *known)
    assert code == 0, err
    assert cw.Result.load(tmp_path / "told").gold.tolist() == [True] * 3
    both = ("--truth", tmp_path / "known.csv", "--truth-columns", mapping)
    for line in (
        ("compare", tmp_path / "votes.csv", "-m", "majority_vote", *both),
        ("workers", tmp_path / "votes.csv", "-m", "majority_vote", *known),
        ("report", tmp_path / "votes.csv", "-m", "majority_vote", *known, *both, "-o", tmp_path / "page.html"),
        ("report", tmp_path / "run", *known, "-o", tmp_path / "page.html", "--force"),
    ):
        code, _, err = crowdwise_cli(*line)
        assert code == 0, err
    code, _, err = crowdwise_cli("evaluate", tmp_path / "run", *both[:2])
    assert code == 2
    assert "--truth-columns (or --gold-columns) task=NAME" in err
    code, _, err = crowdwise_cli("evaluate", tmp_path / "run", *both[:3], "worker=x")
    assert (code, err.count("\n")) == (2, 1)
    assert "takes name=column pairs with names among task, label, got 'worker=x'" in err


def test_labels_to_evaluate_may_come_from_a_spreadsheet(tmp_path, crowdwise_cli):
    (tmp_path / "labels.csv").write_text("Document;Rating;label;p_x;p_y\nd1;x;?;0,9;0,1\nd2;y;?;0,2;0,8\n")
    (tmp_path / "truth.csv").write_text("Document,Gold label\nd1,x\nd2,x\n")
    line = ("evaluate", tmp_path / "labels.csv", "--truth", tmp_path / "truth.csv", "--columns", "label=Rating")
    code, out, err = crowdwise_cli(*line, "--json")
    assert code == 0, err
    assert json.loads(out)["accuracy"] == 0.5
    assert json.loads(out)["mean_confidence"] == pytest.approx(0.85)
