"""python -m tests.architecture.packages: the packages, their imports and sizes, for docs/architecture.md.

The test of the import order reads the same tables: what is drawn is what is enforced.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "crowdwise"
# A package may import from the packages of earlier lines, from those beside it, and from itself.
LAYERS = (
    ("core",),
    ("em", "stats"),
    ("evaluation", "workers", "report", "simulate", "learn", "io"),
    ("kinds",),
    ("judges", "active", "out_of_core", "plots", "datasets"),
    ("client", "server", "compat", "sklearn"),
    ("cli",),
)
RANK = {package: level for level, packages in enumerate(LAYERS) for package in packages}
# Modules that only hand on names that live elsewhere.
FACADES = ("__init__", "__main__", "errors", "registry", "tasks")
# Packages whose __init__ looks up public names of the kinds when they are first asked for.
LAZY = ("crowdwise.learn", "crowdwise.simulate", "crowdwise.workers")
# Hooks import inside their methods whatever serves the kind.
HOOKS = ("crowdwise.core.kind", "crowdwise.kinds.hooks", "crowdwise.kinds.classes.annotations")


@cache
def modules():
    return tuple(sorted(SRC.rglob("*.py")))


@cache
def tree(path):
    """The parsed module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path):
    parts = path.relative_to(SRC.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(path):
    """(module, line, whether only a type checker sees it) of every import of ours, those in functions included."""
    return tuple(_imports(path))


def _imports(path):
    own, is_package = name_of(path), path.name == "__init__.py"
    for_types = {
        id(inner)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = own.split(".") if is_package else own.split(".")[:-1]
            head = base[: len(base) - node.level + 1] if node.level else []
            target = ".".join([*head, *(node.module or "").split(".")]).rstrip(".")
            names = [f"{target}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "crowdwise":
                yield name, node.lineno, id(node) in for_types


def package(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


@cache
def graph():
    """module -> modules that it imports when it runs."""
    known = {name_of(path) for path in modules()}

    def home(name):
        while name not in known and "." in name:
            name = name.rpartition(".")[0]
        return name

    return {name_of(p): {home(n) for n, _, typed in imports(p) if not typed} - {name_of(p)} for p in modules()}


def sizes():
    """package -> (number of modules, lines)."""
    out = {}
    for path in modules():
        mine = package(name_of(path))
        n, lines = out.get(mine, (0, 0))
        out[mine] = n + 1, lines + len(path.read_text(encoding="utf-8").splitlines())
    return out


@cache
def between():
    """(package, package that it imports) -> number of imports."""
    out = {}
    for name, others in graph().items():
        for other in others:
            pair = package(name), package(other)
            if pair[0] != pair[1] and set(pair) <= set(RANK):
                out[pair] = out.get(pair, 0) + 1
    return out


def drawing():
    """An SVG: a row for each layer, the lowest at the bottom; a line for two packages, thicker for more imports."""
    width, height, wide, high, top = 980, 90, 140, 40, 30
    total, big = sizes(), max(between().values())
    place = {}
    for level, packages in enumerate(LAYERS):
        for i, name in enumerate(packages):
            x = width / 2 + (i - (len(packages) - 1) / 2) * (wide + 20)
            place[name] = x, top + (len(LAYERS) - 1 - level) * height + high / 2
    tall = top + len(LAYERS) * height
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {tall}" font-family="sans-serif" '
        'font-size="13">',
        "<title>The packages of crowdwise and their imports</title>",
    ]
    for (upper, lower), n in sorted(between().items()):
        (x1, y1), (x2, y2) = place[upper], place[lower]
        bow = 60 + 30 * (RANK[upper] - RANK[lower])
        side = 1 if (RANK[upper] + RANK[lower]) % 2 else -1
        parts.append(
            f'<path d="M{x1:.0f} {y1:.0f} C{x1 + side * bow:.0f} {y1:.0f} {x2 + side * bow:.0f} {y2:.0f} '
            f'{x2:.0f} {y2:.0f}" '
            f'fill="none" stroke="#7a8699" stroke-opacity=".45" stroke-width="{0.7 + 4 * n / big:.1f}"/>'
        )
    for name, (x, y) in place.items():
        n, lines = total[name]
        parts.append(
            f'<rect x="{x - wide / 2:.0f}" y="{y - high / 2:.0f}" width="{wide}" height="{high}" rx="6" fill="#f4f6fa" '
            f'stroke="#33415c"/><text x="{x:.0f}" y="{y - 3:.0f}" text-anchor="middle" font-weight="bold">{name}</text>'
            f'<text x="{x:.0f}" y="{y + 13:.0f}" text-anchor="middle" font-size="11">{n} modules, {lines:,} lines'
            "</text>"
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def table():
    """The sizes of the packages as Markdown, the largest first."""
    total = sizes()
    rows = [f"| `{name}` | {n} | {lines:,} |" for name, (n, lines) in sorted(total.items(), key=lambda at: -at[1][1])
            if name in RANK]  # fmt: skip
    n, lines = (sum(size[i] for size in total.values()) for i in (0, 1))
    return "\n".join(["| package | modules | lines |", "|---|---|---|", *rows, f"| all | {n} | {lines:,} |"])


def main():
    picture, page = ROOT / "docs" / "images" / "packages.svg", ROOT / "docs" / "architecture.md"
    picture.write_text(drawing(), encoding="utf-8")
    head, _, rest = page.read_text(encoding="utf-8").partition("<!-- sizes -->\n")
    _, end, tail = rest.partition("<!-- /sizes -->")
    page.write_text(f"{head}<!-- sizes -->\n{table()}\n{end}{tail}", encoding="utf-8")
    print(table())


if __name__ == "__main__":
    main()
