"""Reads a model card (README.md) for the About tab.

A card may have the sections "It can" and "It cannot", each a list, and one whose title begins with "Words wrong", with
a table. Where it has them they are shown as such; any other card is shown as it is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A Markdown table with the title of its section and the paragraph below it."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class ModelCard:
    """The parts of a card that the page has a place for; `title` and `summary` are its first heading and paragraph."""

    title: str = ""
    summary: str = ""
    can: tuple[str, ...] = ()
    cannot: tuple[str, ...] = ()
    errors: Table | None = None

    @property
    def is_structured(self) -> bool:
        return bool(self.can or self.cannot or self.errors)


def read_card(text: str) -> ModelCard:
    """The parts of a card; a card without them gives empty ones."""
    body = without_front_matter(text)
    sections = re.split(r"^## +", body, flags=re.M)
    heading = re.search(r"^# +(.+)$", sections[0], re.M)
    before = sections[0][heading.end() :] if heading else sections[0]
    named = {}
    for section in sections[1:]:
        title, _, rest = section.partition("\n")
        named.setdefault(title.strip(), rest)
    errors = next((title for title in named if title.lower().startswith("words wrong")), None)
    return ModelCard(
        title=heading[1].strip() if heading else "",
        summary=_paragraph(before),
        can=_items(named.get("It can", "")),
        cannot=_items(named.get("It cannot", "")),
        errors=_table(errors, named[errors]) if errors else None,
    )


def without_front_matter(text: str) -> str:
    """The card's text after its YAML block."""
    return re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)


def without_pictures(text: str) -> str:
    """The card's text without pictures: those come from elsewhere, and the page fetches nothing from outside."""
    text = re.sub(r"!\[([^\]]*)\]\([^)]*\)", r"\1", without_front_matter(text))
    return re.sub(r"<(img|video|audio|iframe|source)\b[^>]*>", "", text, flags=re.I)


def _paragraph(text: str) -> str:
    return " ".join(text.strip().split("\n\n")[0].split())


def _items(text: str) -> tuple[str, ...]:
    return tuple(match.strip() for match in re.findall(r"^[-*] +(.+)$", text, re.M))


def _table(title: str, text: str) -> Table | None:
    lines = [line.strip() for line in text.splitlines()]
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines if line.startswith("|")]
    if len(rows) < 3:
        return None
    rest = "\n".join(line for line in lines if not line.startswith("|"))
    return Table(title, rows[0], tuple(rows[2:]), _paragraph(rest))
