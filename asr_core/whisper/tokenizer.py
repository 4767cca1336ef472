"""Whisper's tokens: byte-level BPE, and the special tokens that tell the decoder what to do.

The text's tokens come from tokenizer.json; the special ones follow them in an order that is the same in every model, so
their ids are counted, not looked up: files name them differently, or leave the timestamps out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from asr_core.errors import DamagedError, ModelError
from asr_core.text import SPACE, Vocabulary
from asr_core.whisper.languages import LANGUAGES

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Bpe

#: Seconds of one step of the timestamp tokens, and the last of them.
TIMESTAMP_SECONDS = 0.02
LAST_TIMESTAMP = 1500
#: Special tokens that are neither the two that begin and end, nor languages, nor timestamps.
_OTHERS = 6

#: Marks that Whisper writes for sounds and not for words; they are suppressed (openai-whisper's `non_speech_tokens`).
_SYMBOLS = '"#()*+/:;<=>@[\\]^_`{|}~「」『』'
_RUNS = (
    "<<",
    ">>",
    "<<<",
    ">>>",
    "--",
    "---",
    "-(",
    "-[",
    "('",
    '("',
    "((",
    "))",
    "(((",
    ")))",
    "[[",
    "]]",
    "{{",
    "}}",
)
_NOTE_RUNS = ("♪♪", "♪♪♪")
_NOTES = "♩♪♫♬♭♮♯"
#: Punctuation that belongs to the word before it.
_CLOSING = frozenset("\"'.。,，!！?？:：”)]}、…;")


@dataclass(frozen=True)
class SpecialTokens:
    """Ids of a vocabulary's special tokens. Those from `end` on are no text."""

    end: int
    start: int
    languages: tuple[int, ...]
    translate: int
    transcribe: int
    start_of_lm: int
    start_of_previous: int
    no_speech: int
    no_timestamps: int
    first_timestamp: int

    @classmethod
    def of(cls, vocabulary_size: int) -> SpecialTokens:
        """Count them out. Raises ModelError for a vocabulary that no Whisper model has."""
        multilingual = vocabulary_size >= 51_865
        end = 50_257 if multilingual else 50_256
        count = vocabulary_size - end - 2 - _OTHERS - (LAST_TIMESTAMP + 1)
        if not 0 < count <= len(LANGUAGES):
            raise ModelError(f"A Whisper vocabulary has 51,864 to 51,866 tokens; this model has {vocabulary_size}.")
        after = end + 2 + count
        return cls(end, end + 1, tuple(range(end + 2, after)), *range(after, after + _OTHERS + 1))

    def language(self, code: str) -> int:
        return self.languages[LANGUAGES.index(code)]

    @property
    def control(self) -> tuple[int, ...]:
        """Tokens that tell the decoder what to do, and that it must never write."""
        return self.transcribe, self.translate, self.start, self.start_of_previous, self.start_of_lm, self.no_speech


@dataclass(frozen=True)
class WhisperVocabulary(Vocabulary):
    """The tokens of a Whisper model.

    `pieces` begin with "▁" where the token begins with a space, and spell bytes that are no whole character as numbers.

    Args:
        raw: the bytes of each token, empty for special ones.
        special: ids of the special tokens.
    """

    raw: tuple[bytes, ...] = ()
    special: SpecialTokens = field(default_factory=lambda: SpecialTokens.of(51_864))

    @cached_property
    def supported_punctuation(self) -> frozenset[str]:
        return _CLOSING

    def is_special(self, token: int) -> bool:
        return token >= self.special.end

    def is_punctuation(self, token: int) -> bool:
        """Whether the token consists of marks that belong to the word before it."""
        piece = self.pieces[token]
        return bool(piece) and all(mark in _CLOSING for mark in piece)

    def token_texts(self, tokens: Sequence[int]) -> tuple[str, ...]:
        """The text of each token, with the space before it; special tokens have none.

        A character that several tokens share sits on the first of them.
        """
        texts, waiting, first = [""] * len(tokens), b"", 0
        for i, token in enumerate(tokens):
            if not waiting:
                first = i
            waiting += self.raw[token]
            if i + 1 == len(tokens) or not unfinished(waiting) or not self.raw[tokens[i + 1]]:
                texts[first] += waiting.decode("utf-8", "replace")
                waiting = b""
        return tuple(texts)

    def decode(self, tokens: Sequence[int]) -> str:
        return b"".join(self.raw[token] for token in tokens).decode("utf-8", "replace").strip()

    def tidy(self, text: str) -> str:
        """Nothing is to be done: Whisper writes no space before punctuation."""
        return text

    def ends_inside_character(self, tokens: Sequence[int]) -> int:
        """How many tokens at the end are parts of a character whose last byte has not come."""
        whole = b"".join(self.raw[token] for token in tokens)
        rest, count = unfinished(whole), 0
        while rest > 0 and count < len(tokens):
            count += 1
            rest -= len(self.raw[tokens[-count]])
        return count


@dataclass(frozen=True)
class WhisperTokenizer:
    """Encodes text."""

    vocabulary: WhisperVocabulary
    bpe: Bpe

    def encode(self, text: str) -> list[int]:
        """Tokens of a text, as the decoder would write it: with a space before it, white space folded."""
        text = " ".join(text.split())
        return self.encode_exactly(f" {text}") if text else []

    def encode_exactly(self, text: str) -> list[int]:
        return list(self.bpe.encode(text, add_special_tokens=False).ids)

    def unknown_characters(self, text: str) -> list[str]:
        """Nothing is unknown: any text is bytes."""
        return []

    @cached_property
    def blank(self) -> tuple[int, ...]:
        """Tokens with which no text may begin: a lone space, and the end."""
        return (*self.encode_exactly(" "), self.vocabulary.special.end)

    @cached_property
    def suppressed(self) -> tuple[int, ...]:
        """Tokens that are never written: marks for sounds, and control tokens."""
        found = {self.encode_exactly(" -")[0], self.encode_exactly(" '")[0]}
        for symbol in (*_SYMBOLS, *_RUNS, *_NOTE_RUNS, *_NOTES):
            for text in (symbol, f" {symbol}"):
                tokens = self.encode_exactly(text)
                if len(tokens) == 1 or symbol in _NOTES:
                    found.add(tokens[0])
        return tuple(sorted(found | set(self.vocabulary.special.control)))

    def start_tokens(self, language: str | None, task: str) -> list[int]:
        """What every text begins with: in multilingual models also the language and the task."""
        special = self.vocabulary.special
        if language is None:
            return [special.start]
        return [special.start, special.language(language), getattr(special, task)]


def load_tokenizer(file: Path, vocabulary_size: int) -> WhisperTokenizer:
    """Read tokenizer.json. Raises ModelError where it is missing, broken or another model's."""
    from tokenizers import Tokenizer as Bpe

    if not file.is_file():
        raise ModelError(f"There is no {file.name} beside the weights; a Whisper model needs it to write its text.")
    try:
        bpe = Bpe.from_file(str(file))
    except Exception as error:  # the library raises plain Exception
        raise DamagedError(f"{file.name} is broken ({error}); fetch the model again.") from error
    special = SpecialTokens.of(vocabulary_size)
    entries = {i: piece for piece, i in bpe.get_vocab(with_added_tokens=True).items() if i < special.end}
    if len(entries) < special.end - 1:  # transformers gives the last of the multilingual ones no name
        raise ModelError(f"{file.name} has {len(entries)} tokens of text where the model has {special.end}.")
    byte_of = _bytes_by_letter()
    try:
        raw = [bytes(byte_of[letter] for letter in entries.get(i, "")) for i in range(special.end)]
    except KeyError:
        raise ModelError(f"{file.name} is no byte-level tokenizer, as Whisper's is.") from None
    shown = [_shown(data) for data in raw]
    control = _control_names(special, vocabulary_size)
    vocabulary = WhisperVocabulary((*shown, *control), (*raw, *(b"" for _ in control)), special)
    return WhisperTokenizer(vocabulary, bpe)


def unfinished(data: bytes) -> int:
    """How many bytes at the end begin a character of UTF-8 that is not whole."""
    for size in range(1, min(3, len(data)) + 1):
        lead = data[-size]
        if lead >= 0xC0:
            length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            return size if size < length and lead < 0xF8 else 0
        if lead < 0x80:
            return 0
    return 0


def _shown(data: bytes) -> str:
    """A token as a piece: with "▁" for its leading space, and as numbers where it is no whole, visible character."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if not text.replace("\n", " ").isprintable():
        return "".join(f"<0x{byte:02X}>" for byte in data)
    return SPACE + text[1:] if text.startswith(" ") else text


def _bytes_by_letter() -> dict[str, int]:
    """GPT-2's spelling of bytes: printable ones as themselves, the others as letters from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


def _control_names(special: SpecialTokens, size: int) -> list[str]:
    languages = [f"<|{code}|>" for code in LANGUAGES[: len(special.languages)]]
    others = ("translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps")
    times = [f"<|{i * TIMESTAMP_SECONDS:.2f}|>" for i in range(size - special.first_timestamp)]
    return ["<|endoftext|>", "<|startoftranscript|>", *languages, *(f"<|{name}|>" for name in others), *times]
