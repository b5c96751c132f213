"""What schemathesis makes of the OpenAPI document: the short form of `python -m benchmarks.live.fuzz`."""

from __future__ import annotations

from benchmarks.live.fuzz import fuzz


def test_strange_requests_get_what_the_document_says():
    assert fuzz(cases=2, seed=1)["failed"] == []
