"""Several medical readers draw boxes: from a ZIP of COCO files to checked readers and merged COCO in three commands."""

from __future__ import annotations

import json

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.kinds.boxes.maths import iou

from ..exports import packed

READERS = {"dr_ana": 0.95, "dr_ben": 0.75, "dr_eva": 0.70, "dr_ivo": 0.65, "dr_zoe": 0.55}
IMAGES, CHECKED = 150, 60


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """A ZIP with a COCO file per reader; half of the lesions are faint for all but dr_ana."""
    rng = np.random.default_rng(5)
    folder = tmp_path_factory.mktemp("clinic")
    truth = {}
    for i in range(IMAGES):
        corner = np.sort(rng.choice(np.arange(20, 900, 60), rng.integers(0, 4), replace=False)).astype(float)
        truth[f"scan_{i:03}.png"] = [[x, 100.0, x + 40, 150.0] for x in corner]
    faint = {name: rng.random(len(boxes)) < 0.5 for name, boxes in truth.items()}
    drawn = {reader: _file(truth, faint, reader, rng) for reader in READERS}
    zipped = {f"{reader}.json": json.dumps(file).encode() for reader, file in drawn.items()}
    (folder / "readers.zip").write_bytes(packed(zipped))
    return folder, truth


def _file(truth, faint, reader, rng):
    images, annotations = [], []
    for i, (name, boxes) in enumerate(truth.items()):
        images.append({"id": i, "file_name": name, "width": 1000, "height": 300})
        chance = np.where(faint[name], READERS[reader] if reader == "dr_ana" else 0.15, READERS[reader])
        seen = [box for box, p in zip(boxes, chance, strict=True) if rng.random() < p]
        seen += [[900.0, 200.0, 940.0, 240.0]] * int(rng.random() < 0.05)
        for x1, y1, x2, y2 in np.array(seen).reshape(-1, 4) + rng.normal(0, 1.5, (len(seen), 4)):
            box = [round(v, 1) for v in (x1, y1, x2 - x1, y2 - y1)]
            annotations.append({"id": len(annotations), "image_id": i, "category_id": 1, "bbox": box})
    return {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "lesion"}]}


def recall_of(truth, votes, reader):
    """Recall against all true boxes, by brute force."""
    rows = votes.to_frame()
    hits = total = 0
    for task, text in rows.filter(rows["worker"] == reader).select("task", "boxes").iter_rows():
        mine = [box[:4] for box in json.loads(text)]
        hits += sum(any(iou(np.array(box), np.array(other)) >= 0.5 for other in mine) for box in truth[task])
        total += len(truth[task])
    return hits / total


@pytest.mark.slow
def test_three_commands_lead_to_merged_coco_and_readers_that_are_measured(clinic, crowdwise_cli, tmp_path):
    folder, truth = clinic
    gold = tmp_path / "gold.csv"
    rows = [f'{name},"{json.dumps([[*box, "lesion"] for box in boxes]).replace(chr(34), chr(34) * 2)}"'
            for name, boxes in list(truth.items())[:CHECKED]]  # fmt: skip
    gold.write_text("\n".join(["task,boxes", *rows]) + "\n", encoding="utf-8")
    run, merged = tmp_path / "run", tmp_path / "merged.json"

    code, _, err = crowdwise_cli("aggregate", folder / "readers.zip", "--gold", gold, "-o", run)
    assert code == 0, err
    code, workers, err = crowdwise_cli("workers", run, "--json")
    assert code == 0, err
    code, _, err = crowdwise_cli("convert", run, merged, "--to", "coco")
    assert code == 0, err

    table = {row["worker"]: row for row in json.loads(workers)["workers"]}
    votes = cw.read(folder / "readers.zip")
    known = {reader: recall_of(truth, votes, reader) for reader in READERS}
    inside = [table[r]["recall_low"] <= known[r] <= table[r]["recall_high"] for r in READERS]
    assert sum(inside) >= len(READERS) - 1
    best = max(table, key=lambda reader: table[reader]["f1"])
    assert best == "dr_ana"
    coco = json.loads(merged.read_text(encoding="utf-8"))
    assert {(image["width"], image["height"]) for image in coco["images"]} == {(1000, 300)}
    assert all(
        0 < a["score"] <= 1 and a["area"] == pytest.approx(a["bbox"][2] * a["bbox"][3]) for a in coco["annotations"]
    )
    assert {category["name"] for category in coco["categories"]} == {"lesion"}
