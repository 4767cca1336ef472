"""Data goes one way: what imports what, also in type hints only, goes round in no circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LAYERS = ("asr_core", "components", "app")


def modules() -> Mapping[str, Path]:
    files = [ROOT / "app.py", *(file for layer in LAYERS[:2] for file in (ROOT / layer).rglob("*.py"))]
    names = [file.relative_to(ROOT).with_suffix("").parts for file in files]
    return {".".join(name).removesuffix(".__init__"): file for name, file in zip(names, files, strict=True)}


def imported(file: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules of the project that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            # A package's name may stand for a module of it.
            inside = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in known else node.module for name in inside)


@pytest.fixture(scope="module")
def imports() -> Mapping[str, set[str]]:
    known = modules()
    return {name: set(imported(file, known)) - {name} for name, file in known.items()}


def test_no_circle(imports: Mapping[str, set[str]]) -> None:
    order = list(TopologicalSorter(imports).static_order())  # a circle is an error that names it
    assert order.index("asr_core.engine") < order.index("asr_core.recognizer") < order.index("app")


def test_each_layer_knows_only_those_below(imports: Mapping[str, set[str]]) -> None:
    for name, found in imports.items():
        layer = LAYERS.index(name.partition(".")[0])
        above = {other for other in found if LAYERS.index(other.partition(".")[0]) > layer}
        assert not above, f"{name} imports {above}"
