"""Potato's user_state.json (or annotated_instances.jsonl), one per user, alone or in a folder or ZIP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from ...core.errors import DataError
from ..archives import members
from ..json.stream import objects
from ..sources import Source, printable, starts_with
from .base import SURE, Ask, Found, Guess, Head, Rows
from .cells import number, text
from .records import one_of

STATE, OLD = "instance_id_to_label_to_value", "label_annotations"
NAMES = ("user_state.json", "annotated_instances.jsonl")
_FLAGS = {"true": True, "false": False}


def sniff(head: Head) -> Guess | None:
    """A user's state, or an archive or folder with such files."""
    for each in head.objects[:1]:
        for key in (STATE, OLD):
            if isinstance(each.get(key), dict):
                return Guess(SURE, f"its objects have `{key}`")
    if any(PurePosixPath(name).name in NAMES for name in head.members):
        return Guess(SURE, "it holds files called user_state.json or annotated_instances.jsonl")
    return None


def read(source: Source, where: str, ask: Ask) -> Found:
    """One row an instance that a user labelled under the scheme in question."""
    ask.only(where)
    rows: dict[str, Rows] = {}
    states = 0
    for at, user, state in _states(source, where):
        states += 1
        worker = text(state.get("user_id", user), "user_id", at)
        for instance, labels, seconds in _instances(state, at):
            for scheme, values in _schemes(labels, at).items():
                here = rows.setdefault(scheme, Rows())
                said = _said(values, scheme, at)
                if worker:
                    here.sources[worker] = "human"
                here.add(instance, worker, said, duration=seconds)
    if not states:
        raise DataError(f"{where} holds no {' or '.join(NAMES)}; is it Potato's output?")
    question = one_of(sorted(rows), ask.question, where)
    return rows[question].found(where, ask, question)


def _states(source: Source, where: str) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    """(place, user by the folder's name, state)."""
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
        told = state.get("behavioral_data")
        seconds = number(told.get("time")) if isinstance(told, dict) else float("nan")
        yield text(state.get(key), key, at), state[OLD], seconds
        return
    labels = state.get(STATE)
    if not isinstance(labels, dict):
        raise DataError(f"{at}: {STATE} is missing; is it Potato's user_state.json?")
    behaviour = state.get("instance_id_to_behavioral_data")
    for instance, said in labels.items():
        told = behaviour.get(instance) if isinstance(behaviour, dict) else None
        milliseconds = number(told.get("total_time_ms")) if isinstance(told, dict) else float("nan")
        yield instance, said, milliseconds / 1000


def _schemes(labels: Any, at: str) -> dict[str, dict[str, Any]]:
    """scheme -> option -> value, from either way to write it."""
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


def _said(options: dict[str, Any], scheme: str, at: str) -> list[str]:
    """An option whose value is a flag stands for itself; any other value is the label."""
    said = []
    for option, value in options.items():
        plain = text(value, scheme, at)
        flag = _FLAGS.get((plain or "").strip().lower())
        if flag or (plain is not None and plain == option):
            said.append(option)
        elif flag is None and plain and plain.strip():
            said.append(plain)
    return list(dict.fromkeys(said))
