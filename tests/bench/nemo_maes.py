"""NeMo's `maes_batch` on PyTorch's CPU backend, run by an interpreter that has NeMo; imports nothing of ours.

Usage: python -m tests.bench.nemo_maes heads.npz (the weights in the MLX layout, `encoded`, `beam`).
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import torch
from nemo.collections.asr.modules.rnnt import RNNTDecoder, RNNTJoint
from nemo.collections.asr.parts.submodules.rnnt_maes_batched_computer import ModifiedAESBatchedRNNTComputer

from tests.bench.worker import serve


def main() -> None:
    """For each question decode the batch; answer with the seconds and the tokens of the best hypotheses."""
    with np.load(sys.argv[1]) as file:
        weights = {name: torch.from_numpy(file[name]) for name in file.files}
    encoded, beam = weights.pop("encoded"), int(weights.pop("beam"))
    decoder, joint = _heads(weights)
    blank = decoder.vocab_size
    search = ModifiedAESBatchedRNNTComputer(
        decoder=decoder,
        joint=joint,
        blank_index=blank,
        beam_size=beam,
        maes_num_steps=2,
        maes_expansion_beta=2,
        maes_expansion_gamma=2.3,
    )
    lengths = torch.full((len(encoded),), encoded.shape[1])

    def decode(_: Any) -> dict[str, Any]:
        started = time.perf_counter()
        with torch.inference_mode():
            found = search(x=encoded, out_len=lengths)
            # NeMo 3 also returns the state that a stream goes on from.
            found = (found[0] if isinstance(found, tuple) else found).to_hyps_list()
        took = time.perf_counter() - started
        return {"seconds": took, "tokens": [[int(x) for x in one.y_sequence if int(x) != blank] for one in found]}

    serve(decode)


def _heads(weights: dict[str, torch.Tensor]) -> tuple[RNNTDecoder, RNNTJoint]:
    embedding, layers = weights["decoder.prediction.embed.weight"], 0
    while f"decoder.prediction.dec_rnn.lstm.{layers}.Wx" in weights:
        layers += 1
    vocabulary, width = len(embedding) - 1, embedding.shape[1]
    decoder = RNNTDecoder({"pred_hidden": width, "pred_rnn_layers": layers, "dropout": 0.0}, vocabulary)
    joint = RNNTJoint(
        {
            "joint_hidden": weights["joint.enc.weight"].shape[0],
            "activation": "relu",
            "dropout": 0.0,
            "encoder_hidden": weights["joint.enc.weight"].shape[1],
            "pred_hidden": width,
        },
        vocabulary,
        vocabulary=[f"▁{i}" for i in range(vocabulary)],
    )
    lstm = {"prediction.embed.weight": embedding}
    for layer in range(layers):
        ours, theirs = f"decoder.prediction.dec_rnn.lstm.{layer}", "prediction.dec_rnn.lstm"
        lstm[f"{theirs}.weight_ih_l{layer}"], lstm[f"{theirs}.weight_hh_l{layer}"] = (
            weights[f"{ours}.Wx"],
            weights[f"{ours}.Wh"],
        )
        lstm[f"{theirs}.bias_ih_l{layer}"] = weights[f"{ours}.bias"]
        lstm[f"{theirs}.bias_hh_l{layer}"] = torch.zeros_like(weights[f"{ours}.bias"])
    decoder.load_state_dict(lstm)
    last = max(int(name.split(".")[1]) for name in joint.state_dict() if name.startswith("joint_net."))
    joint.load_state_dict(
        {
            name.removeprefix("joint.").replace("joint_net.2", f"joint_net.{last}"): x
            for name, x in weights.items()
            if name.startswith("joint.")
        }
    )
    return decoder.eval(), joint.eval()


if __name__ == "__main__":
    main()
