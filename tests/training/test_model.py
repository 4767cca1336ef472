"""The PyTorch model is the one the app runs: the same weights both ways, the same features."""

from pathlib import Path
from random import Random

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numba")
soundfile = pytest.importorskip("soundfile")

from safetensors.torch import load_file  # noqa: E402
from sentencepiece import SentencePieceProcessor  # noqa: E402

from asr_core.features import FeatureConfig, log_mel  # noqa: E402
from assets.demo_model.training.augment import LogMel, at_speed, in_room, varied  # noqa: E402
from assets.demo_model.training.batches import Example, buckets, make_batch, mixed  # noqa: E402
from assets.demo_model.training.depthwise import depthwise  # noqa: E402
from assets.demo_model.training.export import write_folder  # noqa: E402
from assets.demo_model.training.losses import ctc_loss, tdt_loss  # noqa: E402
from assets.demo_model.training.model import load  # noqa: E402

DEMO = Path(__file__).parents[2] / "assets/demo_model"


def test_weights_go_through_pytorch_and_back_unchanged(tmp_path):
    model = load(DEMO)
    write_folder(tmp_path, model.config, model.state_dict(), SentencePieceProcessor(str(DEMO / "tokenizer.model")))
    assert (tmp_path / "tokenizer.model").read_bytes() == (DEMO / "tokenizer.model").read_bytes()
    before, after = load_file(DEMO / "model.safetensors"), load_file(tmp_path / "model.safetensors")
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_features_are_those_of_the_app():
    samples = np.random.default_rng(0).normal(size=30_000).astype(np.float32) * 0.1
    features, lengths = LogMel()(torch.from_numpy(samples)[None], torch.tensor([len(samples)]))
    expected = log_mel(samples, FeatureConfig())
    assert lengths.tolist() == [len(expected)]
    assert np.abs(features[0, : len(expected)].numpy() - expected).max() < 1e-3


def examples(count):
    draw = np.random.default_rng(1)
    sizes = draw.integers(8_000, 60_000, count)
    return [
        Example((draw.integers(-9000, 9000, n).astype(np.int16),), [5, 6, 7][: n % 4], [2000, 2000, 5000][: n % 4])
        for n in sizes
    ]


def test_a_step_lowers_both_losses_of_its_batch():
    torch.manual_seed(0)
    model = load(DEMO, dropout=0.0)
    batch = make_batch(examples(4))
    features, frames = LogMel()(batch.samples, batch.lengths)
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)
    both = []
    for _ in range(3):
        *inputs, ctc, lengths = model(features, frames, batch.tokens)
        said = (batch.tokens, lengths, batch.counts)
        transducer = tdt_loss(model.joint, *inputs, *said, model.durations, batch.earliest).mean()
        labels = ctc_loss(ctc, *said).mean()
        both.append((transducer.item(), labels.item()))
        optimizer.zero_grad()
        (transducer + labels).backward()
        optimizer.step()
    assert sum(both[2]) < sum(both[0])


@pytest.mark.parametrize("shape", [(2, 9, 6, 5), (1, 8, 7, 16)])
def test_the_depthwise_convolution_and_its_gradients_are_pytorchs(shape):
    torch.manual_seed(0)
    inputs = [torch.randn(size, requires_grad=True) for size in (shape, (shape[-1], 1, 3, 3), shape[-1:])]
    x, weight, bias = inputs
    ours = depthwise(x, weight, bias)
    theirs = torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), weight, bias, 2, 1, groups=shape[-1])
    theirs = theirs.permute(0, 2, 3, 1)
    torch.testing.assert_close(ours, theirs)
    back = torch.randn_like(ours)
    torch.testing.assert_close(torch.autograd.grad(ours, inputs, back), torch.autograd.grad(theirs, inputs, back))


def test_buckets_hold_every_example_once_and_are_full_but_not_too_full():
    clips = examples(100)
    groups = list(buckets(clips, 16.0, Random(0)))
    assert sorted(id(clip) for group in groups for clip in group) == sorted(id(clip) for clip in clips)
    assert all(len(group) * max(clip.seconds for clip in group) <= 16 for group in groups)


def test_mixed_clips_hold_every_clip_once_and_say_what_their_parts_say():
    clips = examples(200)
    longer = list(mixed(clips, Random(0), 0.5, longest=6.0))
    parts = [id(part) for clip in longer for part in clip.parts]
    assert sorted(parts) == sorted(id(clip.parts[0]) for clip in clips)
    assert sum(len(clip.parts) > 1 for clip in longer) > 20 and max(clip.seconds for clip in longer) <= 6
    of = {id(clip.parts[0]): clip for clip in clips}
    for clip in longer:
        begun, pieces, onsets = 0, [], []
        for part in clip.parts:
            pieces += of[id(part)].pieces
            onsets += [begun + onset for onset in of[id(part)].onsets]
            begun += len(part)
        assert (clip.pieces, clip.onsets) == (pieces, onsets)


def test_a_batch_knows_the_frames_at_which_sentences_begin():
    clip = Example((np.zeros(16_000, np.int16), np.full(16_000, 99, np.int16)), [5, 6], [1280, 16_000])
    batch = make_batch([clip])
    assert batch.earliest.tolist() == [[1, 12]] and batch.samples[0, 15_999:16_001].tolist() == [0, 99 / 32768]


def test_places_move_with_the_audio():
    click = np.zeros(40_000, np.float32)
    click[30_000] = 1.0
    for seed in range(50):
        sound, places = varied(click, np.array([30_000.0]), Random(seed), 1.0)
        assert abs(np.abs(sound).argmax() - places[0]) <= 2


def test_speed_changes_length_and_a_room_does_not():
    samples = np.sin(np.arange(16_000) / 10).astype(np.float32)
    assert len(at_speed(samples, 1.25)) == pytest.approx(12_800, abs=2)
    assert len(in_room(samples, 0.3, 0.5, Random(0))) == 16_000


def test_augmentation_keeps_the_shape():
    batch = make_batch(examples(3), Random(0), strength=1.0)
    for parakeet in (False, True):
        features, frames = LogMel()(batch.samples, batch.lengths, Random(1), 1.0, parakeet)
        assert features.shape[0] == 3 and features.shape[2] == 80 and int(frames.max()) <= features.shape[1]
        assert torch.isfinite(features).all()
