"""Potato's user_state.json (or annotated_instances.jsonl), one per user, alone or in a folder or ZIP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from ...core.errors import DataError
from ...core.options import ReadOptions
from ..archives import members
from ..json.stream import objects
from ..sources import Source, printable, starts_with
from .base import SURE, FileHead, FormatMatch, ParsedFile, RowBuilder
from .cells import number, text
from .records import one_of

STATE, OLD = "instance_id_to_label_to_value", "label_annotations"
NAMES = ("user_state.json", "annotated_instances.jsonl")
_FLAGS = {"true": True, "false": False}


def sniff(head: FileHead) -> FormatMatch | None:
    """Match a user's state, or an archive or folder with such files."""
    for record in head.objects[:1]:
        for key in (STATE, OLD):
            if isinstance(record.get(key), dict):
                return FormatMatch(SURE, f"its objects have `{key}`")
    if any(PurePosixPath(name).name in NAMES for name in head.members):
        return FormatMatch(SURE, "it holds files called user_state.json or annotated_instances.jsonl")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read one row per instance that a user labelled under the scheme."""
    options.allow_columns(where)
    rows: dict[str, RowBuilder] = {}
    states = 0
    for at, user, state in _states(source, where):
        states += 1
        worker = text(state.get("user_id", user), "user_id", at)
        for instance, labels, seconds in _instances(state, at):
            for scheme, values in _schemes(labels, at).items():
                scheme_rows = rows.setdefault(scheme, RowBuilder())
                answers = _labels_of(values, scheme, at)
                scheme_rows.add(instance, worker, answers, duration=seconds, source="human")
    if not states:
        raise DataError(f"{where} holds no {' or '.join(NAMES)}; is it Potato's output?")
    question = one_of(sorted(rows), options.question, where)
    return rows[question].finish(where, options, question)


def _states(source: Source, where: str) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """Yield (place for messages, user by the folder's name, state)."""
    if not starts_with(source, b"PK") and (isinstance(source, bytes) or not source.is_dir()):
        for at, state in objects(source, where):
            yield at, None, state
        return
    for name, content in members(source, where, NAMES):
        path = PurePosixPath(name)
        for at, state in objects(content, f"{where}: {printable(name)}"):
            yield at, path.parts[-2] if len(path.parts) > 1 else None, state


def _instances(state: dict[str, Any], at: str) -> Iterator[tuple[str | None, Any, float]]:
    if OLD in state:
        key = "instance_id" if "instance_id" in state else "id"
        record = state.get("behavioral_data")
        seconds = number(record.get("time")) if isinstance(record, dict) else float("nan")
        yield text(state.get(key), key, at), state[OLD], seconds
        return
    labels = state.get(STATE)
    if not isinstance(labels, dict):
        raise DataError(f"{at}: {STATE} is missing; is it Potato's user_state.json?")
    behaviour = state.get("instance_id_to_behavioral_data")
    for instance, answers in labels.items():
        record = behaviour.get(instance) if isinstance(behaviour, dict) else None
        milliseconds = number(record.get("total_time_ms")) if isinstance(record, dict) else float("nan")
        yield instance, answers, milliseconds / 1000


def _schemes(labels: Any, at: str) -> dict[str, dict[str, Any]]:
    """Return scheme -> option -> value, from either notation."""
    if isinstance(labels, dict):
        if all(isinstance(options, dict) for options in labels.values()):
            return labels
    elif isinstance(labels, list):
        schemes: dict[str, dict[str, Any]] = {}
        for entry in labels:
            if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], dict)):
                raise DataError(f"{at}: a label is {str(entry)[:40]!r}, not a pair of scheme and value")
            scheme, option = (text(entry[0].get(key), key, at) or "" for key in ("schema", "name"))
            schemes.setdefault(scheme, {})[option] = entry[1]
        return schemes
    raise DataError(f"{at}: the labels of an instance are {str(labels)[:40]!r}, neither a list nor an object")


def _labels_of(options: dict[str, Any], scheme: str, at: str) -> list[str]:
    """Return the labels: options whose value is a true flag, and other values themselves."""
    answers = []
    for option, value in options.items():
        plain = text(value, scheme, at)
        flag = _FLAGS.get((plain or "").strip().lower())
        if flag or (plain is not None and plain == option):
            answers.append(option)
        elif flag is None and plain and plain.strip():
            answers.append(plain)
    return list(dict.fromkeys(answers))
