"""What the About tab takes from a model card."""

from __future__ import annotations

from pathlib import Path

from components.model_card import read_card, without_pictures


def test_the_embedded_model_has_every_part() -> None:
    card = read_card((Path(__file__).parents[2] / "assets" / "demo_model" / "README.md").read_text(encoding="utf-8"))
    assert card.title and card.summary
    assert len(card.can) >= 2 and len(card.cannot) >= 2
    assert card.errors.title.startswith("Words wrong")
    assert len({len(row) for row in (card.errors.head, *card.errors.rows)}) == 1


def test_another_card_has_none() -> None:
    card = read_card("---\nlicense: mit\n---\n# A model\n\nSome text.\n\n## Usage\n- one\n")
    assert (card.title, card.summary, card.is_structured) == ("A model", "Some text.", False)


def test_pictures_are_left_out() -> None:
    text = without_pictures(
        "---\na: b\n---\n![badge](https://example.com/x.svg) text <img src='https://example.com/y'>"
    )
    assert "example.com" not in text and "badge" in text and "license" not in text
