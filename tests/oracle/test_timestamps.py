"""Words, segments and word confidences as NeMo 3.0.0 gives them for the four oracle models.

Hypotheses are made from NeMo's own tokens and frames, so that only the way from tokens to words is tested. Where the
project departs from NeMo on purpose, the expected values are converted here: punctuation without length for every head,
CTC tokens on their own frames, and no words without text (NeMo makes one of a lone "▁").
"""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import sentencepiece

from asr_core.alignment import Hypothesis, Word
from asr_core.decoding.options import Confidence
from asr_core.segmentation import Segmentation, sentences_of
from asr_core.text import Vocabulary
from asr_core.wording import build_transcript

ORACLE = Path(__file__).parents[1] / "data/oracle"
FRAME = 0.08
LONG = 1e6  # NeMo does not bring times inside the recording
NEMO_RULE = Segmentation(separators=(".", "?", "!"), gap_frames=0)
SETTINGS = {
    "ts": NEMO_RULE,
    "ts_gap4": Segmentation(separators=(".", "?", "!"), gap_frames=4),
    "ts_seps": Segmentation(separators=(".", ","), gap_frames=0),
    "gap": Segmentation(separators=(".", "?", "!"), gap_frames=4),
    "seps": Segmentation(separators=(".", ","), gap_frames=0),
}
AGGREGATIONS = ("mean", "min", "max", "prod")


def load(path: str):
    return json.loads((ORACLE / path).read_text(encoding="utf-8"))


def vocabulary(model: str) -> Vocabulary:
    pieces = sentencepiece.SentencePieceProcessor(str(ORACLE / model / "tokenizer.model"))
    return Vocabulary(tuple(pieces.id_to_piece(i) for i in range(len(pieces))))


def outputs(path: str, tag: str):
    for key, items in load(path)[tag]["out"].items():
        for i, item in enumerate(items):
            yield f"{key}[{i}]", item


def transcript(model: str, ids, starts, ends, segmentation=NEMO_RULE, sure=None, how="min"):
    sure = sure or (1.0,) * len(ids)
    hypothesis = Hypothesis(tuple(ids), tuple(starts), tuple(ends), 0.0, tuple(sure))
    return build_transcript(
        hypothesis,
        vocabulary(model),
        frame_seconds=FRAME,
        duration=LONG,
        segmentation=segmentation,
        confidence=Confidence(aggregation=how),
    )


def transducer(model: str, item, **settings):
    starts = item["timestamp"]["timestep"] if isinstance(item["timestamp"], dict) else item["timestamp"]
    lengths = item.get("token_duration") or [1] * len(starts)
    ends = [start + length for start, length in zip(starts, lengths, strict=True)]
    return transcript(model, item["tokens"], starts, ends, **settings)


def frames(items) -> list[tuple[str, int, int]]:
    return [(one.text, round(one.start / FRAME), round(one.end / FRAME)) for one in items]


def nemo_words(item, punctuation_has_length: bool) -> list[tuple[str, int, int]]:
    """NeMo's words with text; for RNN-T with the end of each brought to the end of its last token that is no mark."""
    stamps, words = item["timestamp"], []
    for word in stamps["word"]:
        end = word["end_offset"]
        if punctuation_has_length:
            end = _end_without_marks(stamps["char"], word)
        if word["word"]:
            words.append((word["word"], word["start_offset"], end))
    return words


def _end_without_marks(chars, word) -> int:
    """NeMo gives the marks of RNN-T a frame each; a word ends where its letters do."""
    end = word["end_offset"]
    marks = len(word["word"]) - len(word["word"].rstrip(".,?!"))
    if not marks or marks == len(word["word"]):
        return end
    texts = [(c["char"][0] if isinstance(c["char"], list) else c["char"]) for c in chars]
    last = max(i for i, c in enumerate(chars) if c["end_offset"] == end and texts[i] in tuple(".,?!"))
    while texts[last] in tuple(".,?!") and last > 0:
        last -= 1
    return chars[last]["end_offset"]


@pytest.mark.parametrize("model", ["tdt", "rnnt", "hybrid"])
@pytest.mark.parametrize("tag", ["ts", "ts_gap4", "ts_seps"])
def test_words_of_transducers(model, tag):
    for name, item in outputs(f"{model}/greedy.json", f"greedy_batch_{tag}"):
        found = transducer(model, item)
        assert found.text == item["text"], name
        assert frames(found.words) == nemo_words(item, model == "rnnt"), name


@pytest.mark.parametrize("model", ["tdt", "hybrid"])
def test_tokens_of_tdt(model):
    for name, item in outputs(f"{model}/greedy.json", "greedy_batch_ts"):
        expected = [(c["start_offset"], c["end_offset"]) for c in item["timestamp"]["char"]]
        assert [(a, b) for _, a, b in frames(transducer(model, item).tokens)] == expected, name


@pytest.mark.parametrize("model", ["tdt", "rnnt", "hybrid"])
@pytest.mark.parametrize("tag", ["ts", "ts_gap4", "ts_seps"])
def test_segments_of_transducers(model, tag):
    """Which words make a segment; their times are those of the words."""
    for name, item in outputs(f"{model}/greedy.json", f"greedy_batch_{tag}"):
        found = transducer(model, item, segmentation=SETTINGS[tag])
        expected = [" ".join(s["segment"].split()) for s in item["timestamp"]["segment"]]
        assert [s.text for s in found.sentences] == [text for text in expected if text], name


def ctc(model: str, item, **settings):
    """Tokens on their own frames, from NeMo's labels a frame."""
    labels, ids, starts, ends = item["tokens"], [], [], []
    at = 0
    for label, run in itertools.groupby(labels):
        length = len(list(run))
        if label != len(vocabulary(model)):
            ids.append(label)
            starts.append(at)
            ends.append(at + length)
        at += length
    return transcript(model, ids, starts, ends, **settings)


@pytest.mark.parametrize("model", ["ctc", "hybrid"])
@pytest.mark.parametrize("tag", ["ts", "gap", "seps"])
def test_tokens_and_words_of_ctc(model, tag):
    """NeMo's CTC intervals are shifted by one token: its token ends where ours, on its own frames, starts."""
    for name, item in outputs(f"{model}/ctc_decode.json", f"greedy_batch_{tag}"):
        found = ctc(model, item)
        assert found.text == item["text"], name
        words = [word["word"] for word in item["timestamp"]["word"] if word["word"]]
        assert [word.text for word in found.words] == words, name
        marks = vocabulary(model).is_punctuation
        for i, (token, char) in enumerate(zip(found.tokens, item["timestamp"]["char"], strict=True)):
            if i and marks(token.id):
                assert token.start == token.end == found.tokens[i - 1].end, name
            else:
                assert round(token.start / FRAME) == char["end_offset"], name
        for word in found.words:
            shown = [token for token in word.tokens if token.text.strip()]
            assert (word.start, word.end) == (word.tokens[0].start, shown[-1].end), name


SEGMENTED = [
    *((f"{model}/greedy.json", tag) for model in ("tdt", "rnnt", "hybrid") for tag in ("ts", "ts_gap4", "ts_seps")),
    *((f"{model}/ctc_decode.json", tag) for model in ("ctc", "hybrid") for tag in ("ts", "gap", "seps")),
]


@pytest.mark.parametrize(("path", "tag"), SEGMENTED)
def test_segments_of_nemo_words(path, tag):
    """NeMo's rule alone: its own words, those without text included, give its own segments and their frames."""
    tested = 0
    for name, item in outputs(path, f"greedy_batch_{tag}"):
        stamps = item["timestamp"]
        words = [
            Word(word["word"], word["start_offset"] * FRAME, word["end_offset"] * FRAME, 1.0, ())
            for word in stamps["word"]
        ]
        expected = [(s["segment"], s["start_offset"], s["end_offset"]) for s in stamps["segment"]]
        assert frames(sentences_of(words, SETTINGS[tag], frame_seconds=FRAME)) == expected, name
        tested += len(expected)
    assert tested > 1


@pytest.mark.parametrize("model", ["ctc", "hybrid"])
@pytest.mark.parametrize("tag", ["ts", "seps"])
def test_segments_of_ctc(model, tag):
    for name, item in outputs(f"{model}/ctc_decode.json", f"greedy_batch_{tag}"):
        found = ctc(model, item, segmentation=SETTINGS[tag])
        expected = [" ".join(s["segment"].split()) for s in item["timestamp"]["segment"]]
        assert [s.text for s in found.sentences] == [text for text in expected if text], name


@pytest.mark.parametrize("model", ["tdt", "rnnt", "hybrid"])
def test_word_confidence(model):
    entries = {tag: entry for tag, entry in load(f"{model}/confidence.json").items() if "out" in entry}
    tested = 0
    for tag, entry in entries.items():
        how = entry["cfg"]["confidence_cfg"]["aggregation"]
        for key, items in entry["out"].items():
            for item in items:
                found = transducer(model, item, sure=item["token_confidence"], how=how)
                expected = np.clip(item["word_confidence"], 0, 1)
                np.testing.assert_allclose([w.confidence for w in found.words], expected, atol=1e-5, err_msg=tag + key)
                tested += 1
    assert tested > 10


@pytest.mark.parametrize("model", ["tdt", "rnnt", "hybrid"])
def test_word_confidence_in_every_aggregation(model):
    tested = 0
    for tag, item in load("extras/confidence_greedy_batch.json").items():
        if not tag.startswith(f"{model}.") or "token_confidence" not in item:
            continue
        how = tag.split(".")[1]
        found = transducer(model, item, sure=item["token_confidence"], how=how)
        np.testing.assert_allclose([w.confidence for w in found.words], item["word_confidence"], atol=1e-5, err_msg=tag)
        tested += 1
    assert tested >= len(AGGREGATIONS)
