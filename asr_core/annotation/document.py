"""What an annotator works on: a recording, what is said in it, where that came from, and how far the work is.

Everything is a frozen value that checks itself: a tier is in order and has no overlaps, everything lies inside the
recording, words cover their tokens. An edit is a function from one document to the next; ids stay with their segments,
and a new segment takes `next_id`.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import file_digest
from pathlib import Path
from typing import Any

from asr_core.alignment import Transcript
from asr_core.annotation.conversion import plain, tiers_of, transcript_of
from asr_core.annotation.segments import DocumentError, Segment, Tier, is_number, is_whole
from asr_core.annotation.timing import straddling
from asr_core.audio import probe
from asr_core.errors import AudioError
from asr_core.whisper.settings import options_of

STATES = ("new", "in review", "done")


@dataclass(frozen=True)
class Audio:
    """Which recording it is.

    Args:
        name: of its file, without a folder; "" = unknown.
        sha256: of the file's bytes, in hex; the recording is known by it, whatever its name.
        duration: seconds.
        sample_rate: Hz.
    """

    name: str = ""
    sha256: str | None = None
    duration: float | None = None
    sample_rate: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise DocumentError(f"The name of a recording is a string, not {self.name!r}.")
        if self.sha256 is not None and not (
            isinstance(self.sha256, str) and len(self.sha256) == 64 and not self.sha256.strip("0123456789abcdef")
        ):
            raise DocumentError(f"The content hash of a recording is a SHA-256 in hex, not {self.sha256!r}.")
        if self.duration is not None:
            if not (is_number(self.duration) and self.duration >= 0):
                raise DocumentError(f"The duration is a number of seconds from 0, or None, not {self.duration!r}.")
            # Rounded up: what ends with the recording still lies inside.
            object.__setattr__(self, "duration", math.ceil(round(self.duration * 1e6, 3)) / 1e6)
        if self.sample_rate is not None and not (is_whole(self.sample_rate) and self.sample_rate > 0):
            raise DocumentError(f"The sample rate is a whole number of Hz, or None, not {self.sample_rate!r}.")

    @classmethod
    def of_file(cls, path: str | os.PathLike[str]) -> Audio:
        """Read what a file says about itself, and its hash. Raises AudioError."""
        info = probe(path)
        try:
            with Path(path).open("rb") as file:
                digest = file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise AudioError(f"{str(path)[:80]!r} cannot be read: {error.strerror}.") from error
        return cls(Path(path).name, digest, info.duration if is_number(info.duration) else None, info.sample_rate)


@dataclass(frozen=True)
class Provenance:
    """What made the first version: the model's source and revision, and the decoder's settings as plain values."""

    model: str | None = None
    revision: str | None = None
    decoding: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("model", "revision"):
            if not isinstance(getattr(self, name), str | None):
                raise DocumentError(f"Provenance.{name} is a string or None, not {getattr(self, name)!r}.")
        if not isinstance(self.decoding, Mapping):
            raise DocumentError(f"Provenance.decoding is a mapping, not {self.decoding!r}.")
        object.__setattr__(self, "decoding", plain(self.decoding))


@dataclass(frozen=True)
class Document:
    """One recording with its tiers.

    Args:
        audio: the recording; may be unknown.
        tiers: in the order they are shown, with names of their own. Marks such as "noise" and "unclear" are segments of
            a tier of the kind "marks"; speakers' turns are segments of the kind "speakers", without text.
        language: code of the language of the text, where it is known.
        provenance: what made the first version.
        state: "new", "in review" or "done".
        reviewer: name of the person; "" = nobody yet.
        notes: of the reviewer.
        warnings: sentences for a person, for example that times of a file were guessed.
        next_id: of the next segment; larger than every id in use or used before. 0 = one more than the largest.
    """

    audio: Audio = Audio()
    tiers: tuple[Tier, ...] = ()
    language: str | None = None
    provenance: Provenance = Provenance()
    state: str = "new"
    reviewer: str = ""
    notes: str = ""
    warnings: tuple[str, ...] = ()
    next_id: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "tiers", tuple(self.tiers))
        object.__setattr__(self, "warnings", tuple(self.warnings))
        if self.state not in STATES:
            raise DocumentError(f"States are {', '.join(STATES)}; {self.state!r} is none of them.")
        for name in ("reviewer", "notes"):
            if not isinstance(getattr(self, name), str):
                raise DocumentError(f"Document.{name} is a string, not {getattr(self, name)!r}.")
        if not isinstance(self.language, str | None):
            raise DocumentError(f"Document.language is a code or None, not {self.language!r}.")
        self._check_ids()
        self._check_times()

    @classmethod
    def from_transcript(
        cls, transcript: Transcript, *, audio: Audio | None = None, revision: str | None = None
    ) -> Document:
        """What a recogniser heard, as a new document.

        Labels of one frame share its time, since a tier has no overlaps; other times stay as they are. Alternatives,
        the score and the timings are left behind.

        Args:
            audio: the recording; what it does not say of its duration the transcript does.
            revision: of the model.
        """
        audio = audio or Audio()
        last = max(
            (item.end for kind in ("tokens", "words", "sentences") for item in getattr(transcript, kind)), default=0
        )
        if audio.duration is None:
            audio = replace(audio, duration=max(transcript.duration, last))
        decoding = plain(transcript.decoding)
        return cls(
            audio,
            tiers_of(transcript, audio.duration),
            text_language(transcript),
            Provenance(transcript.model, revision, decoding if isinstance(decoding, dict) else {}),
            warnings=transcript.warnings,
        )

    def transcript(self) -> Transcript:
        """The same as a transcript: words with the tokens that they cover, sentences with their words.

        Unknown confidences and log-probs are NaN, unknown token ids -1. Without a tier of words the sentences' words
        share their time by letters, and a warning says so; without sentences the words are cut into some.
        """
        return transcript_of(
            self.first,
            self.audio.duration,
            language=self.language,
            model=self.provenance.model,
            decoding=dict(self.provenance.decoding) or None,
            warnings=self.warnings,
        )

    def first(self, kind: str) -> Tier | None:
        """The document's own tier of a kind."""
        return next((tier for tier in self.tiers if tier.kind == kind), None)

    def tier(self, name: str) -> Tier:
        """The tier of that name. Raises DocumentError."""
        for tier in self.tiers:
            if tier.name == name:
                return tier
        names = ", ".join(tier.name for tier in self.tiers) or "none"
        raise DocumentError(f"This document has no tier {name!r}; its tiers are {names}.")

    def find(self, id: int) -> tuple[Tier, int]:
        """The tier that holds a segment, and where it stands in it. Raises DocumentError."""
        for tier in self.tiers:
            if (position := tier.position(id)) is not None:
                return tier, position
        raise DocumentError(f"This document has no segment {id!r}; it may have been deleted or merged.")

    def segment(self, id: int) -> Segment:
        """The segment of that id. Raises DocumentError."""
        tier, position = self.find(id)
        return tier.segments[position]

    def with_tiers(self, *changed: Tier, next_id: int | None = None) -> Document:
        """The same document with these tiers in place of those of the same names, new ones at the end."""
        by_name = {tier.name: tier for tier in changed}
        tiers = [by_name.pop(tier.name, tier) for tier in self.tiers]
        return replace(self, tiers=(*tiers, *by_name.values()), next_id=self.next_id if next_id is None else next_id)

    def _check_ids(self) -> None:
        if twice := _repeated(tier.name for tier in self.tiers):
            raise DocumentError(f"Tiers have names of their own; {twice[0]!r} is there twice.")
        ids = [segment.id for tier in self.tiers for segment in tier.segments]
        if twice := _repeated(ids):
            raise DocumentError(f"Segments have ids of their own; {twice[0]} is there twice.")
        least = max(ids, default=-1) + 1
        if not is_whole(self.next_id) or (self.next_id and self.next_id < least):
            raise DocumentError(f"The next id is a whole number from {least}, not {self.next_id!r}.")
        object.__setattr__(self, "next_id", self.next_id or least)

    def _check_times(self) -> None:
        duration = self.audio.duration
        for tier in self.tiers if duration is not None else ():
            if tier.segments and tier.segments[-1].end > duration:
                last = tier.segments[-1]
                raise DocumentError(
                    f"In tier {tier.name!r} {last} ends at {last.end:g} s, after the recording, which lasts"
                    f" {duration:g} s."
                )
        tokens, words = self.first("tokens"), self.first("words")
        if tokens and words and (token := straddling(words.segments, tokens.segments)):
            raise DocumentError(
                f"The token {token} ({token.start:g} to {token.end:g} s) crosses the border of a word; words cover"
                " their tokens."
            )


def text_language(transcript: Transcript) -> str | None:
    """The language of a transcript's text: that of the speech, but what Whisper translates becomes English."""
    return "en" if options_of(transcript.decoding).task == "translate" else transcript.language


def _repeated(values: Iterable[Any]) -> list[Any]:
    """What is there more than once."""
    return [value for value, times in Counter(values).items() if times > 1]
