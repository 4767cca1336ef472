"""Train the built-in model on the CPU: one single-threaded process a core, gradients averaged.

    python -m assets.demo_model.training.train first --minutes 360 --processes 2     # from the built-in model
    python -m assets.demo_model.training.train first --minutes 360 --processes 2     # goes on after an interruption

Everything of a run is in $TOKENSCOPE_TRAINING/runs/NAME: checkpoint.pt (float16 weights and their average, written
every ten minutes), model/ (the average, exported) and log.jsonl. A run that is gone on with keeps its place in the
schedule (counted in CPU time, since it runs at low priority) and begins with a fresh optimiser and a warm-up. New
clips of the shards are taken up with every pass.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import time
from pathlib import Path
from random import Random

import torch
from sentencepiece import SentencePieceProcessor
from torch import Tensor, distributed, multiprocessing, nn

from .augment import LogMel
from .batches import Batch, buckets, make_batch, read_examples
from .export import DEMO, write_folder
from .losses import ctc_loss, tdt_loss
from .model import HybridModel, load
from .storage import data_root

CHECKPOINT_MINUTES = 10.0
WARM_UP_STEPS = 100
AVERAGE_STEPS = 400


class Average:
    """Exponential moving average of a model's state; it begins as a plain mean, so early weights are soon forgotten."""

    def __init__(self, state: dict[str, Tensor]) -> None:
        self.state = {name: tensor.clone() for name, tensor in state.items()}
        self._steps = 1

    def update(self, state: dict[str, Tensor]) -> None:
        """Take in the state after a step."""
        self._steps += 1
        floating = [name for name, tensor in state.items() if tensor.is_floating_point()]
        averages, values = [self.state[name] for name in floating], [state[name] for name in floating]
        torch._foreach_lerp_(averages, values, 1 / min(self._steps, AVERAGE_STEPS))
        for name in state.keys() - set(floating):
            self.state[name].copy_(state[name])


class Trainer:
    """One process of a run. `rank` 0 also writes checkpoints and the log."""

    def __init__(self, arguments: argparse.Namespace, rank: int) -> None:
        self.settings, self.rank = arguments, rank
        self.folder = data_root() / "runs" / arguments.run
        self.folder.mkdir(parents=True, exist_ok=True)
        self.minutes_before, self.audio_hours = 0.0, 0.0
        if (path := self.folder / "checkpoint.pt").exists():
            checkpoint = torch.load(path, weights_only=True)
            pieces = self.folder / "model" / "tokenizer.model"
            self.model = HybridModel(checkpoint["config"])
            self.model.load_state_dict(_as_float(checkpoint["weights"]))
            average = _as_float(checkpoint["average"])
            self.minutes_before, self.audio_hours = checkpoint["minutes"], checkpoint["audio_hours"]
        else:
            pieces = arguments.start / "tokenizer.model"
            self.model = load(arguments.start)
            average = self.model.state_dict()
        self.tokenizer = SentencePieceProcessor(model_file=str(pieces))
        if self.tokenizer.get_piece_size() != self.model.blank:
            raise SystemExit(f"{pieces} has {self.tokenizer.get_piece_size()} pieces, its model {self.model.blank}.")
        self.average = Average(average)
        self.optimizer = _optimizer(self.model)
        # Another seed after an interruption, so that a run does not repeat its first batches.
        seed = arguments.seed + rank + round(1000 * self.minutes_before)
        self.random = Random(seed)
        torch.manual_seed(seed)
        self.features = LogMel()
        self.began, self.saved = time.process_time(), time.monotonic()
        self.step = 0
        self.recent: list[tuple[float, float]] = []

    @property
    def minutes(self) -> float:
        """Minutes of CPU time trained in all, before interruptions too."""
        return self.minutes_before + (time.process_time() - self.began) / 60

    def run(self) -> None:
        """Train until the minutes are over."""
        while (progress := self._shared_progress()) < 1:
            repeat = dict(pair.split("=") for pair in self.settings.repeat)
            if self.rank == 0:
                read_examples("training", self.tokenizer)
            _barrier()
            examples = read_examples(
                "training", self.tokenizer, {name: int(times) for name, times in repeat.items()}, decode=False
            )
            if not examples:
                raise SystemExit("There are no clips yet: make some with generate.py.")
            gc.freeze()  # the clips are many, and none of them is ever garbage
            groups = list(buckets(examples, self.settings.batch_seconds, self.random, self.settings.mixed))
            for group in groups[: min(1600, _least(len(groups)))]:
                if (progress := self._shared_progress()) >= 1:
                    break
                self._train_on(make_batch(group, self.random, self._strength(progress)), progress)
                if self.rank == 0:
                    self._write(progress, len(examples))
        if self.rank == 0:
            self._save()

    def _strength(self, progress: float) -> float:
        first, last = self.settings.augmentation
        return first + (last - first) * progress

    def _train_on(self, batch: Batch, progress: float) -> None:
        """One step of the optimiser. The losses are per token; a clip of no tokens counts as one of one."""
        settings, model = self.settings, self.model
        with torch.no_grad():
            features, frames = self.features(
                batch.samples,
                batch.lengths,
                self.random,
                self._strength(progress),
                self.random.random() < settings.parakeet,
            )
        token_dropout = settings.token_dropout * (1 - progress)
        with torch.autocast("cpu", torch.bfloat16, enabled=settings.bfloat16):
            encoded, predicted, ctc, frames = model(features, frames, batch.tokens, token_dropout)
            transducer = tdt_loss(
                model.joint, encoded, predicted, batch.tokens, frames, batch.counts, model.durations, batch.earliest
            ) / batch.counts.clamp(min=1)
        labels = ctc_loss(ctc, batch.tokens, frames, batch.counts) / batch.counts.clamp(min=1)
        loss = ((1 - settings.ctc_weight) * transducer + settings.ctc_weight * labels).mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        _average_gradients(model)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        rate = settings.learning_rate * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))
        for group in self.optimizer.param_groups:
            group["lr"] = rate * min(1.0, (self.step + 1) / WARM_UP_STEPS)
        if torch.isfinite(norm):
            self.optimizer.step()
            self.average.update(model.state_dict())
        self.step += 1
        self.audio_hours += settings.processes * batch.seconds / 3600
        self.recent.append((float(transducer.detach().mean()), float(labels.detach().mean())))

    def _write(self, progress: float, examples: int) -> None:
        if self.step % 50 == 0:
            tdt, ctc = (sum(values) / len(values) for values in zip(*self.recent, strict=True))
            self.recent.clear()
            row = {
                "step": self.step,
                "minutes": round(self.minutes, 2),
                "audio_hours": round(self.audio_hours, 3),
                "tdt": round(tdt, 4),
                "ctc": round(ctc, 4),
                "progress": round(progress, 4),
                "examples": examples,
            }
            with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(row, flush=True)
        if time.monotonic() - self.saved > 60 * CHECKPOINT_MINUTES:
            self._save()

    def _save(self) -> None:
        """Write the checkpoint and the exported average, each complete or not at all."""
        self.saved = time.monotonic()
        part = self.folder / "checkpoint.part"
        torch.save(
            {
                "weights": _as_half(self.model.state_dict()),
                "average": _as_half(self.average.state),
                "config": self.model.config,
                "minutes": self.minutes,
                "audio_hours": self.audio_hours,
            },
            part,
        )
        exported = self.folder / "model.part"
        write_folder(exported, self.model.config, self.average.state, self.tokenizer)
        (self.folder / "model").mkdir(exist_ok=True)
        for file in exported.iterdir():
            file.replace(self.folder / "model" / file.name)
        part.replace(self.folder / "checkpoint.pt")

    def _shared_progress(self) -> float:
        """0 to 1 by the clock of rank 0, so that all processes stop at the same step."""
        progress = torch.tensor([self.minutes / self.settings.minutes])
        if distributed.is_initialized():
            distributed.broadcast(progress, 0)
        return float(progress)


def _optimizer(model: nn.Module) -> torch.optim.AdamW:
    """AdamW with weight decay on matrices only."""
    matrices = [parameter for parameter in model.parameters() if parameter.ndim > 1]
    others = [parameter for parameter in model.parameters() if parameter.ndim <= 1]
    groups = [{"params": matrices, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), fused=True)


def _average_gradients(model: nn.Module) -> None:
    """Replace each gradient by its mean over the processes, in one exchange."""
    if not distributed.is_initialized():
        return
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
    distributed.all_reduce(flat)
    flat /= distributed.get_world_size()
    for gradient, mean in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(mean.view_as(gradient))


def _least(number: int) -> int:
    """The least of all processes' numbers, so that they end a pass together."""
    least = torch.tensor([number])
    if distributed.is_initialized():
        distributed.all_reduce(least, distributed.ReduceOp.MIN)
    return int(least)


def _barrier() -> None:
    if distributed.is_initialized():
        distributed.barrier()


def _as_half(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in state.items()}


def _as_float(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in state.items()}


def _process(rank: int, arguments: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    if arguments.processes > 1:
        address = f"tcp://127.0.0.1:{os.environ.get('MASTER_PORT', '29511')}"
        distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=arguments.processes)
    Trainer(arguments, rank).run()


def main() -> None:
    """Start the processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="name of the run")
    parser.add_argument("--start", type=Path, default=DEMO, help="folder of the model a new run begins with")
    parser.add_argument("--minutes", type=float, default=360.0, help="CPU time of a process for the whole schedule")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--batch-seconds", type=float, default=32.0, help="padded audio of a batch of one process")
    parser.add_argument("--learning-rate", type=float, default=8e-4, help="its peak; it falls by a cosine")
    parser.add_argument("--augmentation", type=float, nargs=2, default=(0.5, 0.8), help="strength at start and end")
    parser.add_argument("--token-dropout", type=float, default=0.1, help="at the start; it falls to 0")
    parser.add_argument("--ctc-weight", type=float, default=0.5)
    parser.add_argument("--parakeet", type=float, default=0.3, help="share of batches with parakeet-mlx's features")
    repeat = ["kokoro=3", "flite=2"]
    parser.add_argument("--repeat", nargs="*", default=repeat, help="sources whose clips count several times")
    parser.add_argument("--mixed", type=float, default=0.08, help="share of clips with another one behind them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bfloat16", action="store_true", help="autocast; slower than float32 where batches are small")
    arguments = parser.parse_args()
    if arguments.processes == 1:
        _process(0, arguments)
    else:
        multiprocessing.spawn(_process, (arguments,), nprocs=arguments.processes)


if __name__ == "__main__":
    main()
