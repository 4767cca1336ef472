"""A part of the page that our own script draws: a gr.HTML with a constant template.

Templates never change, because Gradio evaluates them as code: whatever a person, a file or a model says travels in the
component's value and is put on the page as text nodes by the part of the same name in assets/*.js.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr


def part(
    name: str,
    value: Any = None,
    *,
    events: Sequence[str] = (),
    server_functions: Sequence[Callable[..., Any]] = (),
    **options: Any,
) -> gr.HTML:
    """A place for the part `name` of assets/*.js.

    Args:
        value: plain data for the script.
        events: names that the script triggers; each becomes a listener method of the component.
        server_functions: what the script may call, by their names.
        options: of gr.HTML.
    """
    # Gradio finds the events as quoted words in this script.
    listed = ", ".join(f'"{event}"' for event in events)
    return gr.HTML(
        value=value,
        html_template=f'<div class="ts-part" data-part="{name}"></div>',
        js_on_load=(
            f"/* events: {listed} */\n"
            "(window.tokenscopeParts ??= []).push("
            f'["{name}", {{element, props, trigger, server, upload, watch}}]);'
        ),
        server_functions=list(server_functions),
        padding=False,
        apply_default_css=False,
        **options,
    )
