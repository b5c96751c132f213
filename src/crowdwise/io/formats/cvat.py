"""CVAT for images: tags of whole images, or boxes and polygons; one XML file per job, alone or in a ZIP."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any
from xml.parsers import expat

from ...core.errors import DataError
from ...core.faults import first_line
from ...core.options import ReadOptions
from ..archives import members
from ..sources import Source, chunks, printable, starts_with
from .base import NO_ANSWER, SURE, FileHead, FormatMatch, ParsedFile, RowBuilder
from .shapes import Shapes, kind_to_read, numbers

# Elements that are read as boxes and as outlines.
_SHAPES = ("box", "polygon")
USUAL = "annotations"  # name of the file in each archive of CVAT


def sniff(head: FileHead) -> FormatMatch | None:
    """Match XML with <annotations>, or an archive with such files."""
    if head.kind == "xml":
        return FormatMatch(SURE, "it is XML with <annotations>")
    workbook = any(name.startswith(("[Content_Types]", "xl/")) for name in head.members)
    if not workbook and any(name.lower().endswith((".xml", ".zip")) for name in head.members):
        return FormatMatch(SURE, "it is an archive with .xml files")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read one row per image of a job; the worker is the job's assignee, or the file's or folder's name."""
    options.allow_columns(where)
    unnamed = 0
    if starts_with(source, b"<", b"\xef\xbb\xbf<") or not _is_archive(source):
        jobs = [(where, source)]
    else:
        jobs = members(source, where, (".xml",))  # type: ignore[assignment]
    workers: dict[str, str] = {}
    read_jobs: list[tuple[str, _Job]] = []
    sources: dict[str, str] = {}
    for name, content in jobs:
        inside = where if name == where else f"{where}: {printable(name)}"
        job = _Job(inside)
        job.parse(content)
        unnamed += not job.worker
        worker = job.worker or _from_name(name)
        sources[worker] = "human"
        workers[name] = worker
        read_jobs.append((worker, job))
    if not workers:
        raise DataError(f"{where} holds no .xml file; export each job as CVAT for images 1.1")
    notes = ("workers are named after the files, which name no assignee",) if unnamed else ()
    tagged = any(tags for _, job in read_jobs for _, tags, _ in job.images)
    counts = [sum(shape == name for _, job in read_jobs for *_, drawn in job.images for shape, _ in drawn)
              for name in _SHAPES]  # fmt: skip
    kind = kind_to_read(options.expected_kind, *([0, 0] if tagged else counts))
    rows = _tags(read_jobs) if kind is None else _shapes(read_jobs, kind)
    rows.sources = sources
    return rows.finish(where, options, "tag" if kind is None else kind, notes)


def _tags(jobs: list[tuple[str, _Job]]) -> RowBuilder:
    rows = RowBuilder("classes")
    for worker, job in jobs:
        for image, tags, _ in job.images:
            rows.mention(image)
            if tags:
                rows.add(image, worker, tags)
            else:
                rows.drop(NO_ANSWER)
        if job.shapes:
            rows.drop("shape, not a tag of the whole image", job.shapes)
    return rows


def _shapes(jobs: list[tuple[str, _Job]], kind: str) -> RowBuilder:
    """Collect the shapes of each image of a job; an image without shapes is an empty answer."""
    rows = RowBuilder(kind)
    for worker, job in jobs:
        for image, _, drawn in job.images:
            rows.add(image, worker, [_drawn(drawn, job.where).text(kind)])
        if job.others:
            rows.drop("shape of another sort", job.others)
    return rows


def _drawn(elements: list[tuple[str, dict[str, str]]], where: str) -> Shapes:
    """Return the shapes of one image, from the attributes of their elements."""
    shapes = Shapes()
    for name, attributes in elements:
        if name == "box":
            values = [attributes.get(side) for side in ("xtl", "ytl", "xbr", "ybr")]
            shapes.add_box(numbers(values, 4, where, "a box"), attributes.get("label"))
        else:
            pairs = [pair.split(",") for pair in attributes.get("points", "").split(";")]
            shapes.add_outline([numbers(pair, 2, where, "a point") for pair in pairs])
    return shapes


def _is_archive(source: Source) -> bool:
    return starts_with(source, b"PK") or (not isinstance(source, bytes) and source.is_dir())


def _from_name(name: str) -> str:
    path = PurePosixPath(name)
    stem = path.stem if path.stem != USUAL or len(path.parts) == 1 else path.parts[-2]
    return stem.removesuffix(".zip")


class _Job:
    """A streaming parser of one file. Document types and entities, which can be bombs, are refused."""

    def __init__(self, where: str) -> None:
        self.where, self.worker, self.shapes, self.others = where, "", 0, 0
        self.images: list[tuple[str | None, list[str], list[tuple[str, dict[str, str]]]]] = []
        self._path: list[str] = []
        self._text = ""

    def parse(self, source: Source) -> None:
        parser: Any = expat.ParserCreate()
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._refuse
        try:
            for piece in chunks(source, self.where):
                parser.Parse(piece)
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise DataError(f"{self.where}: not readable as XML ({first_line(error)}); export it again") from None
        except (LookupError, ValueError) as error:
            raise DataError(
                f"{self.where}: its encoding cannot be read ({first_line(error)}); save it as UTF-8"
            ) from None
        if self._path or not self._rooted:
            raise DataError(f"{self.where} is not an export of CVAT: <annotations> is missing")

    _rooted = False

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._path:
            self._rooted = name == "annotations"
            if not self._rooted:
                raise DataError(
                    f"{self.where} is not an export of CVAT: it begins with <{name[:40]}>, not <annotations>"
                )
        if len(self._path) > 50:
            raise DataError(f"{self.where}: nested too deeply for an export of CVAT")
        parent = self._path[-1] if self._path else ""
        self._path.append(name)
        self._text = ""
        if name == "image" and parent == "annotations":
            self.images.append((attributes.get("name") or attributes.get("id"), [], []))
        elif name == "tag" and parent == "image":
            label = attributes.get("label", "")
            if label and label not in self.images[-1][1]:
                self.images[-1][1].append(label)
        elif parent == "image" or (name == "track" and parent == "annotations"):
            self.shapes += 1
            self._shape(name, attributes, parent)

    def _shape(self, name: str, attributes: dict[str, str], parent: str) -> None:
        if parent == "image" and name in _SHAPES:
            self.images[-1][2].append((name, attributes))
        else:
            self.others += 1

    def _end(self, name: str) -> None:
        # CVAT nests the name, other tools that write its format do not.
        if self._path[-2:] == ["assignee", "username"] or name == "assignee":
            self.worker = self.worker or self._text.strip()
        self._path.pop()
        self._text = ""

    def _characters(self, data: str) -> None:
        if len(self._text) < 10_000:
            self._text += data

    def _refuse(self, *_: Any) -> None:
        raise DataError(f"{self.where}: XML with a document type is not read, it can hide bombs; CVAT writes none")
