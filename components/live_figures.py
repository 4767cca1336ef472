"""How stable a live text is: how often draft words change, and how long a word takes from spoken to final."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

import asr_core
from asr_core.metrics import align_words

#: A comma that comes later is no other word.
NORMALIZATION = asr_core.Normalization(ignore_case=True, ignore_punctuation=True)


@dataclass(frozen=True)
class Figures:
    """What a recording shows at its end.

    Args:
        drafted: words that were shown as a draft; a word that was replaced counts again.
        changed: those that later became another word, or went away.
        delay, delay_p95: seconds from the end of a word to its being final, median and 95th percentile; None without
            words.
    """

    drafted: int
    changed: int
    delay: float | None
    delay_p95: float | None

    @property
    def share(self) -> float:
        return self.changed / self.drafted if self.drafted else 0.0


class Stability:
    """Follows the updates of one stream."""

    def __init__(self) -> None:
        self._drafted = self._changed = 0
        #: The words that could still change at the last look, and the position of the first of them.
        self._open: list[str] = []
        self._from = 0
        self._known = 0
        self._delays: list[float] = []
        self._captured: deque[tuple[float, float]] = deque()

    def captured(self, seconds: float, at: float) -> None:
        """The recording has reached `seconds`, and that was spoken at time `at`, on the clock of `take`."""
        self._captured.append((seconds, at))

    def take(self, final: asr_core.Transcript, draft: str, now: float) -> None:
        """Text as it is shown from `now` on; `draft` begins with a space unless it goes on with the last final word."""
        shown = _shown(final, draft, self._from)
        goes_on = bool(draft) and not draft.startswith(" ") and bool(final.words)
        self._from = len(final.words) - goes_on
        open_ = _shown(final, draft, self._from) if draft else []
        self._count_changes(shown, len(shown) - len(open_))
        self._open = open_
        for word in final.words[self._known :]:
            self._delays.append(max(0.0, now - self._spoken_at(word.end)))
        self._known = max(self._known, len(final.words))

    def figures(self) -> Figures:
        if not self._delays:
            return Figures(self._drafted, self._changed, None, None)
        median, p95 = np.percentile(self._delays, [50, 95])
        return Figures(self._drafted, self._changed, float(median), float(p95))

    def _count_changes(self, now: list[str], settled: int) -> None:
        """Compare what was open before with what stands there now; the first `settled` words are final."""
        pairs = align_words(self._open, now)
        kept = {j for i, j in pairs if i is not None and j is not None and self._open[i] == now[j]}
        self._changed += len(self._open) - len(kept)
        self._drafted += sum(j not in kept for j in range(max(0, settled), len(now)))

    def _spoken_at(self, seconds: float) -> float:
        """When a moment of the recording was spoken, from the first packet that reaches it."""
        while len(self._captured) > 1 and self._captured[0][0] < seconds:
            self._captured.popleft()
        reached, at = self._captured[0] if self._captured else (seconds, 0.0)
        return at - (reached - seconds)


def _shown(final: asr_core.Transcript, draft: str, first: int) -> list[str]:
    """Words on the page from the position `first` on, as they are compared."""
    text = " ".join(word.text for word in final.words[first:]) + draft
    return [word for word in map(NORMALIZATION.word, text.split()) if word]
