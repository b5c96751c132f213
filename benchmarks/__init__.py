"""Measurements of crowdwise against its peers; nothing here is installed."""

from tests.data import ROOT, data_folder, found_data

DOCS = ROOT / "docs" / "benchmarks"

__all__ = ["DOCS", "ROOT", "data_folder", "found_data"]
