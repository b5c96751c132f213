"""docs/kinds-and-commands.md is what the hooks say, and no cell of it is empty without a word."""

from __future__ import annotations

from .kinds import COMMANDS, INSTEAD, PAGE, kinds, page, works


def test_the_page_is_the_codes():
    assert PAGE.read_text(encoding="utf-8") == page(), "`python -m tests.docs.kinds` writes it again"


def test_most_cells_are_filled_and_the_others_say_what_to_do():
    empty = {(command, kind.name) for kind in kinds() for command in COMMANDS if not works(command, kind)}
    assert empty == set(INSTEAD)
    assert len(empty) <= 0.2 * len(COMMANDS) * len(kinds())
