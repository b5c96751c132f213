"""A benchmark without arguments runs all of its sections, under every Python."""

from __future__ import annotations

from importlib import import_module

import pytest

PAGES = ("fairness", "graphs", "guarantee", "numbers", "ordered", "sets", "spans", "texts")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("given", "made"), [((), ["one", "two"]), (("two",), ["two"])])
def test_sections(name, given, made, monkeypatch, tmp_path):
    module = import_module(f"benchmarks.{name}.__main__")
    written = []
    monkeypatch.setattr(module, "SECTIONS", {each: (each.title(), lambda each=each: each) for each in ("one", "two")})
    monkeypatch.setattr(module, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(module, "write_section", lambda page, name, *rest: written.append(name))
    monkeypatch.setattr("sys.argv", [name, *given])
    monkeypatch.setattr("warnings.simplefilter", lambda *_, **__: None)
    module.main()
    assert written == made
