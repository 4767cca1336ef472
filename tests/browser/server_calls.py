"""What becomes of the page's calls of server functions."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, Route


class ServerCalls:
    """The calls of one page; `handle` may be replaced at any time.

    To be made well before a call is to be met: a browser that has just begun to intercept still lets calls through.
    """

    def __init__(self, page: Page) -> None:
        self.handle: Callable[[Route], object] = Route.continue_
        page.route(re.compile("component_server"), lambda route: self.handle(route))

    def go_on(self) -> None:
        """Let all calls through again."""
        self.handle = Route.continue_


def is_edit(route: Route) -> bool:
    """Whether a call is an edit of a document."""
    return "annotate_edit" in (route.request.post_data or "")
