"""Tokenscope's inference core: Parakeet models in MLX, from audio to aligned tokens with confidence.

>>> import asr_core
>>> recognizer = asr_core.load_model()
>>> recognizer.transcribe("clip.wav").text

Every function may be called from any thread. Importing this package loads neither MLX nor a model.
"""

from asr_core import annotation, formats
from asr_core.alignment import Hypothesis, Sentence, Token, Transcript, Word
from asr_core.audio import AudioInfo, AudioWarning, peaks, probe, read_audio, write_wav
from asr_core.calibration import Reliability, reliability
from asr_core.comparison import Comparison, Difference, compare
from asr_core.decoding.boosting import PhraseBoost
from asr_core.decoding.ngram_lm import NgramLM
from asr_core.decoding.options import Beam, Confidence, Fusion, Greedy, Maes, Whisper
from asr_core.errors import (
    AsrError,
    AudioError,
    Cancelled,
    DecodingError,
    FormatError,
    ModelError,
    StoreError,
)
from asr_core.frame_scores import FrameScores
from asr_core.loading import Runtime, load_model, runtime
from asr_core.longform import Chunking
from asr_core.metrics import BoundaryReport, ErrorRate, boundary_errors, character_error_rate, word_error_rate
from asr_core.models.registry import ModelInfo, list_models
from asr_core.normalization import Normalization
from asr_core.progress import Progress
from asr_core.recognizer import Recognizer
from asr_core.segmentation import Segmentation
from asr_core.streaming import Stream, StreamUpdate, StreamWindow
from asr_core.whisper.attention import Attention
from asr_core.wording import resegment

__all__ = [
    "AsrError",
    "Attention",
    "AudioError",
    "AudioInfo",
    "AudioWarning",
    "Beam",
    "BoundaryReport",
    "Cancelled",
    "Chunking",
    "Comparison",
    "Confidence",
    "DecodingError",
    "Difference",
    "ErrorRate",
    "FormatError",
    "FrameScores",
    "Fusion",
    "Greedy",
    "Hypothesis",
    "Maes",
    "ModelError",
    "ModelInfo",
    "NgramLM",
    "Normalization",
    "PhraseBoost",
    "Progress",
    "Recognizer",
    "Reliability",
    "Runtime",
    "Segmentation",
    "Sentence",
    "StoreError",
    "Stream",
    "StreamUpdate",
    "StreamWindow",
    "Token",
    "Transcript",
    "Whisper",
    "Word",
    "annotation",
    "boundary_errors",
    "character_error_rate",
    "compare",
    "formats",
    "list_models",
    "load_model",
    "peaks",
    "probe",
    "read_audio",
    "reliability",
    "resegment",
    "runtime",
    "word_error_rate",
    "write_wav",
]
