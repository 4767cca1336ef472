"""Tokenscope: see where a speech recogniser heard each token and how sure it was."""

from __future__ import annotations

import logging
import sys
from typing import Any

import gradio as gr

from components import uploads
from components.about import build_about_tab
from components.annotate import build_annotate_tab
from components.compare import build_compare_tab
from components.header import build_header, connect_header
from components.live import build_live_beside, build_live_tab
from components.services import Services
from components.settings import Settings, SettingsError
from components.theme import build_theme
from components.transcribe import build_transcribe_tab


def build_app(settings: Settings) -> gr.Blocks:
    """The whole page. Launch it with `launch_options(settings)`."""
    services = Services.start(settings)
    with gr.Blocks(title="Tokenscope", fill_width=True, analytics_enabled=False) as blocks:
        header = build_header(services)
        with gr.Tabs():
            with gr.Tab("Transcribe", id="transcribe"):
                transcribe = build_transcribe_tab(services, header.model)
                build_live_beside(services)
            with gr.Tab("Compare", id="compare") as tab:
                build_compare_tab(services, tab, header.model, transcribe.document)
            with gr.Tab("Live", id="live"):
                build_live_tab(services, header.model, transcribe.decoder, transcribe.understands)
            with gr.Tab("Annotate", id="annotate") as tab:
                build_annotate_tab(services, tab, header.model)
            with gr.Tab("About this model", id="about"):
                about = build_about_tab(services.models)
        connect_header(blocks, services, header, transcribe, about)
    uploads.sweep_every(blocks, 600.0, settings.retention_hours * 3600)
    # So that the model stands when the first page asks for it; if it fails, the page says why.
    services.jobs.load(settings.model)
    return blocks


def launch_options(settings: Settings) -> dict[str, Any]:
    """Arguments of `launch`; the page may fetch files of the recordings' folder and of no other."""
    return {
        "theme": build_theme(),
        "allowed_paths": [str(settings.data / "recordings")],
        "max_file_size": settings.max_upload_mb * 1_000_000,
        "server_name": settings.host,
        "server_port": settings.port,
        "ssr_mode": False,
        "run_history": False,
        "enable_monitoring": False,
        "pwa": False,
        "footer_links": ["settings"],
    }


def main() -> None:
    """Start the server with the settings of the environment."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        settings = Settings.from_environment()
    except SettingsError as error:
        sys.exit(str(error))
    build_app(settings).launch(**launch_options(settings))


if __name__ == "__main__":
    main()
