"""What the prediction network says to the slots of a beam, computed once for each sequence of labels.

Slots that differ only in the frame they stand on, or that catch up with one another, hold the same labels; the network
knows nothing else.
"""

from __future__ import annotations

import numpy as np

from asr_core.models.transducer import Transducer


class Predictions:
    """The prediction of each slot.

    Attributes:
        projected: (slots, joint width) float32.
    """

    def __init__(self, head: Transducer, keys: np.ndarray) -> None:
        """Before the first label. `keys` (slots,) int64 are equal where the labels so far are."""
        self._head, self._keys = head, keys
        output, self._state = head.prediction.start(len(keys))
        self.projected = head.joint.project_prediction(output)
        self._computed = [(keys[:1], self.projected[:1])]

    def advance(self, keys: np.ndarray, origins: np.ndarray, labels: np.ndarray) -> None:
        """Each slot takes over another one's labels, and some emit one more.

        Args:
            keys: (slots,) of the labels afterwards.
            origins: (slots,) slot each comes from.
            labels: (slots,) id of the label emitted; negative where there is none.
        """
        origins, emitting = origins.copy(), labels >= 0
        wanted, first, place = np.unique(keys[emitting], return_index=True, return_inverse=True)
        slot = np.flatnonzero(emitting)
        same = wanted[:, None] == self._keys
        known = same.any(-1)
        origins[slot[known[place]]] = same.argmax(-1)[place][known[place]]
        new = np.flatnonzero(~known)
        self.projected, state = self.projected[origins], self._state.rows(origins)
        if new.size:
            source = slot[first[new]]
            output, after = self._head.prediction.step(labels[source], state.rows(source))
            row = np.searchsorted(new, place)
            unknown = ~known[place]
            predicted = self._head.joint.project_prediction(output)
            self._computed.append((wanted[new], predicted))
            self.projected[slot[unknown]] = predicted[row[unknown]]
            state.put(slot[unknown], after.rows(row[unknown]))
        self._state, self._keys = state, keys

    def along(self, keys: np.ndarray) -> np.ndarray:
        """(n, joint width) of sequences that slots have held, by their keys (n,)."""
        if len(self._computed) > 1:
            every = [np.concatenate(column) for column in zip(*self._computed, strict=True)]
            order = np.argsort(every[0], kind="stable")
            self._computed = [(every[0][order], every[1][order])]
        known, predicted = self._computed[0]
        return predicted[np.searchsorted(known, keys)]
