"""The page's scripts share one scope. Two functions of one name would not be an error there: the later one counts."""

from __future__ import annotations

import re
from collections import Counter

from components.theme import ASSETS, SCRIPTS


def test_no_two_scripts_declare_the_same_name() -> None:
    declared = re.compile(r"^(?:async )?(?:function\*?|const|let|class) (\w+)", re.M)
    names = Counter(name for script in SCRIPTS for name in declared.findall((ASSETS / script).read_text("utf-8")))
    assert len(names) > 300
    assert [name for name, times in names.items() if times > 1] == []


def test_every_script_is_in_the_page() -> None:
    assert sorted(path.name for path in ASSETS.glob("*.js")) == sorted(SCRIPTS)


def test_nothing_is_painted_smaller_than_can_be_read() -> None:
    """The design's least size is 11 px, on canvases and in styles."""
    painted = re.compile(r"\.font = (.*)px")
    sizes = {
        int(size)
        for script in SCRIPTS
        for said in painted.findall((ASSETS / script).read_text("utf-8"))
        for size in re.findall(r"(?<![\w.])(\d+)(?!\d)", re.sub(r"\b[47]00\b", "", said))
    }
    styled = re.compile(r"font-size: (\d+)px")
    sizes |= {int(size) for file in ASSETS.glob("*.css") for size in styled.findall(file.read_text("utf-8"))}
    assert len(sizes) > 2 and min(sizes) >= 11
