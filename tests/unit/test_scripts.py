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
