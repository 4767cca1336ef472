"""Forms from dataclasses: each field says how it is asked for, within which limits, and when it means something.

The page draws the controls from `described`, and `values_of` checks what it sends back: any client can send anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

import asr_core

Kind = Literal["choice", "whole", "number", "switch", "lines", "file"]
#: As a condition: the other setting only has to be filled in.
FILLED = ()


@dataclass(frozen=True)
class Setting:
    """How a value is asked for.

    Args:
        group: the part of the form it stands in.
        kind: "lines" is a text, "file" the {id, name} of something that was uploaded.
        options: (value, name) of a choice.
        least, most, step: of a number.
        empty: what a number that is left empty stands for; "" where it must not be empty.
        when: the setting applies only where these others have one of these values.
        hint: a line below it.
    """

    label: str
    group: str
    kind: Kind
    options: Sequence[tuple[str, str]] = ()
    least: float = 0
    most: float = 0
    step: float = 1
    empty: str = ""
    when: Mapping[str, Sequence[str]] = field(default_factory=dict)
    hint: str = ""


def setting(default: Any, label: str, group: str, kind: Kind, **how: Any) -> Any:
    """A dataclass field with its `Setting`."""
    return field(default=default, metadata={"setting": Setting(label, group, kind, **how)})


def described(form: type) -> list[dict[str, Any]]:
    """The settings of a form as plain data, with their names and defaults."""
    return [{"name": one.name, "default": one.default, **asdict(one.metadata["setting"])} for one in fields(form)]


def values_of(form: type, sent: Any) -> dict[str, Any]:
    """The values of a form from what a page sends; a setting that does not apply, or was not sent, has its default.

    Raises:
        DecodingError: calls the setting what the page calls it.
    """
    given = sent if isinstance(sent, dict) else {}
    chosen = {one.name: given.get(one.name, one.default) for one in fields(form)}
    values = {}
    for one in fields(form):
        how = one.metadata["setting"]
        value = chosen[one.name] if _applies(how, chosen) else one.default
        # A default needs no check; None is one only where a setting may be left open.
        values[one.name] = one.default if value is one.default else _checked(how, value)
    return values


def _applies(how: Setting, chosen: Mapping[str, Any]) -> bool:
    """As `applies` in assets/decoder_settings.js."""
    return all(
        chosen[name] in accepted if accepted != FILLED else bool(chosen[name]) for name, accepted in how.when.items()
    )


def _checked(how: Setting, value: Any) -> Any:
    match how.kind:
        case "choice" if value in (key for key, _ in how.options):
            return value
        case "switch" if isinstance(value, bool):
            return value
        case "lines" if isinstance(value, str):
            return value
        case "file" if isinstance(value, dict):
            return value.get("id")
        case "whole" | "number":
            return _number(how, value)
    raise asr_core.DecodingError(f"{how.label} cannot be {_shown(value)}. Load the page again.")


def _number(how: Setting, value: Any) -> int | float | None:
    if value is None and how.empty:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if is_number and how.least <= value <= how.most:
        if how.kind == "number":
            return float(value)
        if value == int(value):
            return int(value)
    kind = "a whole number" if how.kind == "whole" else "a number"
    accepted = f"{kind} from {how.least:g} to {how.most:g}"
    if value is None:
        raise asr_core.DecodingError(f"{how.label} is empty. Give {accepted} in the settings.")
    raise asr_core.DecodingError(f"{how.label} is {accepted}, not {_shown(value)}. Put it right in the settings.")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 40 else f"a {type(value).__name__} that is too long to show"
