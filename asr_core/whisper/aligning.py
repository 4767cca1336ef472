"""Times for a text that is known: it is read by the decoder, and its attention says when each token was said."""

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import pairwise

import numpy as np

from asr_core.aligning import Piece, pieces
from asr_core.alignment import Hypothesis, Transcript, concatenated
from asr_core.batching import Recording
from asr_core.decoding.options import Confidence, Greedy, Whisper
from asr_core.errors import Cancelled, DecodingError
from asr_core.progress import OnProgress, Progress
from asr_core.segmentation import Segmentation
from asr_core.whisper import detection, transcribing, word_times
from asr_core.whisper import features as front_end
from asr_core.whisper.hearing import EMPTY
from asr_core.whisper.stages import WhisperStages


def align(
    stages: WhisperStages,
    recording: Recording,
    text: str,
    whisper: Whisper | None,
    segmentation: Segmentation,
    confidence: Confidence,
    on_progress: OnProgress | None,
    cancel: threading.Event | None,
) -> Transcript:
    """The work behind `Recognizer.align` of a Whisper model.

    A recording longer than a window is transcribed first, and cut where the text says what was heard.

    Args:
        whisper: the language of the recording, and whether the text translates it; None = not known, and it does not.
    Raises:
        DecodingError: a part of the text has more tokens than the decoder holds, or its audio is longer than a window.
        Cancelled: with the parts that were done.
    """
    rate, samples = stages.info.sample_rate, recording.samples
    duration = len(samples) / rate
    parts = [Piece(text, 0.0, duration)]
    if duration > front_end.SECONDS:
        [heard] = transcribing.batch(stages, [recording], Greedy(whisper=whisper), Segmentation(), on_progress, cancel)
        parts = pieces(text, heard.words, duration, front_end.SECONDS)
    mel = front_end.log_mel(samples, stages.config.features)
    edges = [round(part.start / stages.config.frame_seconds) for part in parts]
    edges.append(len(samples) // stages.frame_samples)
    options = whisper or Whisper()
    whole, language = EMPTY, options.language

    def result(cuts: tuple[float, ...]) -> Transcript:
        made = stages.transcript([whole], duration=duration, segmentation=segmentation, confidence=confidence)
        decoding, spoken = Greedy(confidence=confidence, whisper=whisper), language or made.language
        return replace(made, decoding=decoding, warnings=recording.warnings, cuts=cuts, language=spoken)

    for i, (part, (first, last)) in enumerate(zip(parts, pairwise(edges), strict=True)):
        cuts = tuple(one.start for one in parts[1 : i + 1])
        if cancel is not None and cancel.is_set():
            raise Cancelled(result(cuts))
        if on_progress is not None:
            on_progress(Progress(part.start, duration, "align"))
        piece, language = _piece(stages, mel, part.text, first, last, confidence, replace(options, language=language))
        whole = concatenated(whole, piece)
    if on_progress is not None:
        on_progress(Progress(duration, duration, "align"))
    return result(tuple(part.start for part in parts[1:]))


def _piece(
    stages: WhisperStages,
    mel: np.ndarray,
    text: str,
    first: int,
    last: int,
    confidence: Confidence,
    options: Whisper,
) -> tuple[Hypothesis, str | None]:
    """Align a text with the encoder frames [first, last) of the recording.

    Args:
        options: the language, that of the pieces before where it was found out, and the task.
    Returns:
        The text with its times, and its language.
    """
    tokens = stages.tokenizer.encode(text)
    if not tokens:
        return EMPTY, options.language
    decoder, step = stages.decoder, stages.config.frame_seconds
    if last - first > front_end.FRAMES // 2:
        seconds = (last - first) * step
        raise DecodingError(
            f"{seconds:.0f} s of the recording hold no three words that are heard as the text has them; a Whisper "
            f"model aligns {front_end.SECONDS} s at a time. Check that the text is that of this recording."
        )
    encoded, _ = stages.encode(front_end.window(mel, 2 * first)[None], np.zeros(1, np.int64))
    cache = decoder.begin(encoded)
    language = detection.language_of(decoder, cache, stages.vocabulary.special, options)
    start = stages.start_tokens(language, options.task)
    room = decoder.room - len(start) - 2
    if len(tokens) > room:
        raise DecodingError(
            f"The text has {len(tokens)} tokens for {(last - first) * step:.1f} s of audio; there is room for {room}."
        )
    timing = word_times.align(decoder, cache, tokens, stages.tokenizer, start, last - first, confidence)
    aligned = Hypothesis(
        tuple(tokens),
        tuple(int(frame) + first for frame in timing.starts),
        tuple(int(frame) + first for frame in timing.ends),
        float(timing.log_probs.sum()),
        tuple(map(float, timing.confidences)),
        tuple(map(float, timing.log_probs)),
    )
    return aligned, language
