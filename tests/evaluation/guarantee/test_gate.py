"""Certificates of judges, and the gate that tests them."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.errors import DataError, ParameterError
from crowdwise.evaluation.guarantee.judge_certificate import JudgeCertificate, anchors_needed
from tests.evaluation.guarantee.made import judged, some

TODAY = date(2026, 1, 10)
VOTES, TRUTH = judged(n=2000, error=0.1, seed=4)
GOLD = some(TRUTH, 400)


@pytest.fixture(scope="module")
def certificate():
    return cw.certify(VOTES, gold=GOLD, sampling="random", today=TODAY, prompt="Is it toxic?")


def again(certificate, worse=0.0, better=0.0, seed=0):
    """Labels of the anchors, of which some were lost or won."""
    rng, out = np.random.default_rng(seed), {}
    for anchor in certificate.anchors:
        right, chance = anchor.verdict == anchor.label, rng.random()
        turned = chance < (worse if right else better)
        other = "fine" if anchor.verdict == "toxic" else "toxic"
        out[anchor.task] = other if turned else anchor.verdict
    return out


def test_a_certificate_states_what_was_measured(certificate):
    figure = cw.estimate(VOTES, gold=GOLD, metric="accuracy", sampling="random")
    assert (certificate.agreement, certificate.low) == (figure.value, figure.low)
    assert certificate.floor == pytest.approx(figure.low, abs=1e-4)
    assert certificate.expires == "2026-04-10"
    assert len(certificate.anchors) == 400
    assert certificate.judge["worker"] == "judge-a"
    assert "Is it toxic" not in json.dumps(certificate.to_dict())
    for anchor in certificate.anchors[:20]:
        assert GOLD[anchor.task] == anchor.label


def test_a_changed_file_is_refused(certificate, tmp_path):
    path = tmp_path / "certificate.json"
    certificate.save(path)
    assert JudgeCertificate.load(path) == certificate
    path.write_text(path.read_text().replace(f'"floor": {certificate.floor}', '"floor": 0.5'))
    with pytest.raises(DataError, match="was changed after it was written"):
        JudgeCertificate.load(path)
    path.write_text("{}")
    with pytest.raises(DataError, match="not a certificate of a judge"):
        JudgeCertificate.load(path)


def test_what_cannot_be_certified():
    with pytest.raises(DataError, match=r"an agreement of 0\.99 cannot be promised"):
        cw.certify(VOTES, gold=GOLD, sampling="random", at_least=0.99)
    with pytest.raises(ParameterError, match="not stated how the gold was drawn"):
        cw.certify(VOTES, gold=GOLD)
    two = cw.Annotations.from_arrays([1, 1], ["a", "b"], ["x", "y"])
    with pytest.raises(DataError, match="about one judge; there are 2"):
        cw.certify(two, gold={1: "x"}, sampling="random")
    with pytest.raises(ParameterError, match="drop must be between"):
        cw.certify(VOTES, gold=GOLD, sampling="random", drop=5)
    assert "cannot tell" in cw.certify(VOTES, gold=GOLD, sampling="random", drop=0.02).notes[-1]


def test_the_same_verdicts_hold(certificate):
    answer = cw.gate(certificate, [again(certificate)], today=TODAY)
    assert (answer.status, answer.exit_code, answer.judged_again) == ("holds", 0, 400)
    assert answer.low < answer.agreement < answer.high
    assert answer.before == answer.after == answer.agreement
    assert "✅ Judge certificate: holds" in answer.markdown()


def test_a_drop_breaks_it_also_after_it_expired(certificate):
    worse = again(certificate, worse=0.15)
    for day in (TODAY, date(2027, 1, 1)):
        answer = cw.gate(certificate, [worse], today=day)
        assert (answer.status, answer.exit_code) == ("broken", 3)
        assert answer.e_drift >= answer.limit == 40
    assert "fell from" in answer.reason or "promised" in answer.reason


def test_evidence_adds_up_over_looks(certificate):
    worse = list(again(certificate, worse=0.08, seed=3).items())
    parts = [dict(worse[i::4]) for i in range(4)]
    whole, added = cw.gate(certificate, [dict(worse)], today=TODAY), cw.gate(certificate, parts, today=TODAY)
    assert added.e_drift == pytest.approx(whole.e_drift)
    assert added.looks == 4
    assert cw.gate(certificate, parts[:1], today=TODAY).e_drift < whole.e_drift


def test_an_anchor_is_compared_with_its_first_verdict_once(certificate):
    same = again(certificate)
    answer = cw.gate(certificate, [same, again(certificate, worse=0.3)], today=TODAY)
    assert answer.before == answer.after
    assert answer.verdicts == 800


def test_it_cannot_tell(certificate):
    same = again(certificate)
    few = dict(list(same.items())[:50])
    assert cw.gate(certificate, [few], today=TODAY).status == "cannot tell"
    assert cw.gate(certificate, [], today=TODAY).exit_code == 4
    assert cw.gate(certificate, [same], today=date(2026, 4, 11)).status == "expired"
    assert cw.gate(certificate, [same], today=date(2026, 4, 10)).status == "holds"
    assert cw.gate(certificate, [same], today=TODAY, prompt=" Is it toxic?\n").status == "holds"
    assert cw.gate(certificate, [same], today=TODAY, prompt="Is it rude?").status == "cannot tell"
    log = pl.DataFrame({"task": list(same), "worker": "judge-b", "label": list(same.values())})
    with pytest.raises(DataError, match="no verdicts of judge-a"):
        cw.gate(certificate, [log], today=TODAY)
    assert cw.gate(certificate, [log], today=TODAY, judge="judge-b").status == "holds"


def test_no_change_is_rarely_an_alarm(certificate):
    alarms = [
        cw.gate(certificate, [again(certificate, worse=0.03, better=0.03 * 0.88 / 0.12, seed=s)], today=TODAY).status
        for s in range(40)
    ]
    assert alarms.count("broken") <= 2


def test_anchors_needed_find_the_drop():
    n, rng = anchors_needed(0.05, 0.05), np.random.default_rng(9)
    from crowdwise.stats.betting import capital

    caught = [capital(np.where(rng.random(n) < 0.05, 0.0, 0.5), 0.5) >= np.log(40) for _ in range(300)]
    assert 0.74 <= np.mean(caught) <= 0.88


def test_the_command_line(tmp_path, crowdwise_cli):
    VOTES.to_frame().select("task", "worker", "label").write_csv(tmp_path / "votes.csv")
    pl.DataFrame({"task": list(GOLD), "label": list(GOLD.values())}).write_csv(tmp_path / "gold.csv")
    path, log, history = (tmp_path / name for name in ("c.json", "new.jsonl", "looks.jsonl"))
    given = ("certify", tmp_path / "votes.csv", "--gold", tmp_path / "gold.csv", "--sampling", "random", "-o", path)
    code, _, err = crowdwise_cli(*given, "--at-least", "0.99")
    assert (code, path.exists(), "cannot be promised" in err) == (3, False, True)
    code, out, _ = crowdwise_cli(*given)
    assert code == 0
    assert out.startswith("judge-a agrees with people in at least")
    assert crowdwise_cli(*given)[0] == 2  # it exists
    certificate = JudgeCertificate.load(path)

    def write(labels):
        rows = [{"task": t, "worker": "judge-a", "label": x} for t, x in labels.items()]
        log.write_text("".join(json.dumps(row) + "\n" for row in rows))

    write(again(certificate) | {"elsewhere": "fine"})
    summary = tmp_path / "summary.md"
    code, out, err = crowdwise_cli("gate", path, log, "--history", history, "--summary", summary)
    assert (code, out.partition(":")[0]) == (0, "holds")
    assert "1 verdicts on tasks that are no anchors" in err
    assert "✅" in summary.read_text()
    code, _, err = crowdwise_cli("gate", path, log, "--history", history)
    assert "already" in err
    assert len(history.read_text().splitlines()) == 1
    write(again(certificate, worse=0.5))
    code, out, _ = crowdwise_cli("gate", path, log, "--json")
    assert (code, json.loads(out)["status"]) == (3, "broken")
    write(dict(list(again(certificate).items())[:20]))
    assert crowdwise_cli("gate", path, log)[0] == 4
    history.write_text("nonsense\n")
    code, _, err = crowdwise_cli("gate", path, log, "--history", history)
    assert (code, "line 1: not a look" in err) == (2, True)
