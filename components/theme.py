"""How the page looks: Gradio's theme, and the scripts and styles of assets/, as one block for the document's head."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import gradio as gr

ASSETS = Path(__file__).parents[1] / "assets"
STYLES = (
    "tokens.css",
    "gradio.css",
    "parts.css",
    "decoder.css",
    "transcript.css",
    "align_view.css",
    "inside.css",
    "compare.css",
    "live.css",
    "annotate.css",
    "annotate_list.css",
    "annotate_panels.css",
    "page.css",
)
#: Put into one function in this order, so that they share a scope without a bundler.
SCRIPTS = (
    "page.js",
    "address.js",
    "colour.js",
    "document.js",
    "player.js",
    "align_layout.js",
    "align_sound.js",
    "align_layers.js",
    "align_tiles.js",
    "align_panels.js",
    "align_window.js",
    "align_input.js",
    "align_painting.js",
    "align_playing.js",
    "align_stage.js",
    "inside_tiles.js",
    "inside_layers.js",
    "inside_attention.js",
    "inside_view.js",
    "align_view.js",
    "transcript.js",
    "readings.js",
    "decoder_settings.js",
    "compare.js",
    "compare_layers.js",
    "compare_hearing.js",
    "compare_panels.js",
    "compare_view.js",
    "compare_texts.js",
    "compare_cards.js",
    "compare_judging.js",
    "start.js",
    "about.js",
    "microphone.js",
    "live_sender.js",
    "live_copy.js",
    "live_strip.js",
    "live_text.js",
    "live_panels.js",
    "live_sources.js",
    "live_after.js",
    "live.js",
    "annotate.js",
    "annotate_document.js",
    "annotate_saving.js",
    "annotate_layers.js",
    "annotate_card.js",
    "annotate_boundaries.js",
    "annotate_view.js",
    "annotate_actions.js",
    "annotate_keys.js",
    "annotate_text.js",
    "annotate_queue.js",
    "annotate_list.js",
    "annotate_jobs.js",
    "annotate_import.js",
    "annotate_find.js",
    "annotate_menus.js",
    "annotate_details.js",
    "annotate_report.js",
    "annotate_page.js",
    "mount.js",
)


@cache
def head() -> str:
    """The styles and the script of the page, inline: they work offline, under any root path, and on a Space."""
    styles = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in STYLES)
    scripts = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in SCRIPTS)
    return f'<style>\n{styles}\n</style>\n<script>\n(() => {{\n"use strict";\n{scripts}\n}})();\n</script>'


@cache
def tokens(dark: bool = False) -> dict[str, str]:
    """The design's values by name without "--ts-", for charts that Python draws: {"ink": "#16202B", ...}."""
    css = (ASSETS / "tokens.css").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"^(:root|\.dark) \{\n(.*?)^\}", css, re.S | re.M))
    found = _declarations(blocks[":root"])
    return {**found, **_declarations(blocks[".dark"])} if dark else found


def _declarations(body: str) -> dict[str, str]:
    return dict(re.findall(r"--ts-([\w-]+): ([^;]+);", body))


def build_theme() -> gr.themes.Base:
    """Gradio's own components in the design's colours, light and dark."""
    light_and_dark = {
        "body_background_fill": "page",
        "body_text_color": "ink",
        "body_text_color_subdued": "ink-3",
        "background_fill_primary": "surface",
        "background_fill_secondary": "page",
        "block_background_fill": "surface",
        "border_color_primary": "line",
        "border_color_accent": "accent",
        "block_border_color": "line",
        "block_label_text_color": "ink-2",
        "block_title_text_color": "ink-2",
        "block_info_text_color": "ink-3",
        "color_accent_soft": "accent-soft",
        "button_primary_background_fill": "accent",
        "button_primary_background_fill_hover": "accent-hover",
        "button_primary_text_color": "accent-ink",
        "button_primary_border_color": "accent",
        "button_secondary_background_fill": "surface",
        "button_secondary_background_fill_hover": "surface",
        "button_secondary_border_color": "line",
        "button_secondary_border_color_hover": "line-strong",
        "button_secondary_text_color": "ink",
        "input_background_fill": "surface",
        "input_border_color": "line",
        "input_border_color_focus": "focus",
        "link_text_color": "accent",
    }
    values = {name: f"var(--ts-{token})" for name, token in light_and_dark.items()}
    values |= {f"{name}_dark": value for name, value in values.items()}
    return gr.themes.Base(
        font=[_local("IBM Plex Sans"), "ui-sans-serif", "system-ui", "sans-serif"],
        font_mono=[_local("IBM Plex Mono"), "ui-monospace", "Consolas", "monospace"],
    ).set(
        **values,
        color_accent="var(--ts-accent)",
        block_radius="8px",
        input_radius="6px",
        button_large_radius="6px",
        button_medium_radius="6px",
        button_small_radius="6px",
        block_shadow="none",
        block_border_width="1px",
        block_label_text_weight="400",
        block_title_text_weight="400",
        block_title_text_size="13px",
    )


def _local(family: str) -> gr.themes.LocalFont:
    # Only these two weights are complete in the files that come with Gradio.
    return gr.themes.LocalFont(family, weights=(400, 700))
