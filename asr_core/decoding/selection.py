"""The largest of some scores, of equals those that `torch.topk` takes on a CPU.

NeMo's `maes_batch` depends on it: where a frame leaves fewer extensions than the beam has slots, the slots left over
take extensions of minus infinity, and the labels of these decide which slots stay open. torch promises no order of
equals; it gets them from its C++ library's selection by quick-select and heaps, repeated here comparison by comparison.
"""

from __future__ import annotations

import numpy as np

from asr_core.decoding.hypotheses import top

#: Shorter stretches are sorted by insertion, which keeps the order of equals.
SELECT_STOP, SORT_STOP = 3, 16
#: torch changes from quick-select to a heap where at most one score in so many is wanted.
HEAP_RATIO = 64


def top_as_torch(scores: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The `count` largest of each row of (rows, n), largest first: values and indices, each (rows, count)."""
    values, indices = top(scores, min(count + 1, scores.shape[-1]))
    ambiguous = (values[:, 1:] == values[:, :-1]).any(-1)
    values, indices = values[:, :count], indices[:, :count]
    for row in np.flatnonzero(ambiguous):
        indices[row] = _Selection(scores[row].tolist()).largest(count)
        values[row] = scores[row, indices[row]]
    return values, indices


class _Selection:
    """A row of scores and the order in which its places stand; `a` comes before `b` where its score is larger."""

    def __init__(self, scores: list[float]) -> None:
        self._scores, self._order = scores, list(range(len(scores)))

    def largest(self, count: int) -> list[int]:
        """Places of the `count` largest, largest first."""
        size = len(self._order)
        if count * HEAP_RATIO <= size:
            self._sort_by_heap(0, count, size)
        else:
            self._select(count - 1)
            self._sort(0, count - 1, _depth(count - 1))
            self._insertion_sort(0, count - 1)
        return self._order[:count]

    def _select(self, nth: int) -> None:
        """The nth largest to its place, larger ones before it."""
        start, end = 0, len(self._order)
        depth = _depth(end)
        while end - start > SELECT_STOP:
            if depth == 0:
                self._heap_of_largest(start, nth + 1, end)
                self._swap(start, nth)
                return
            depth -= 1
            cut = self._partition(start, end)
            start, end = (cut, end) if cut <= nth else (start, cut)
        self._insertion_sort(start, end)

    def _sort(self, start: int, end: int, depth: int) -> None:
        """Sort but for stretches of SORT_STOP."""
        while end - start > SORT_STOP:
            if depth == 0:
                self._sort_by_heap(start, end, end)
                return
            depth -= 1
            cut = self._partition(start, end)
            self._sort(cut, end, depth)
            end = cut

    def _partition(self, start: int, end: int) -> int:
        """Larger scores before smaller ones, around the median of three; where the smaller ones begin."""
        self._swap(start, self._median(start + 1, start + (end - start) // 2, end - 1))
        pivot, left, right = start, start + 1, end
        while True:
            while self._before(left, pivot):
                left += 1
            right -= 1
            while self._before(pivot, right):
                right -= 1
            if left >= right:
                return left
            self._swap(left, right)
            left += 1

    def _median(self, a: int, b: int, c: int) -> int:
        if self._before(a, b):
            return b if self._before(b, c) else c if self._before(a, c) else a
        return a if self._before(a, c) else c if self._before(b, c) else b

    def _insertion_sort(self, start: int, end: int) -> None:
        self._order[start:end] = sorted(self._order[start:end], key=lambda place: -self._scores[place])

    def _sort_by_heap(self, start: int, middle: int, end: int) -> None:
        """The largest of a stretch, in order, to its front."""
        self._heap_of_largest(start, middle, end)
        for last in range(middle - 1, start, -1):
            place = self._order[last]
            self._order[last] = self._order[start]
            self._sink(start, 0, last - start, place)

    def _heap_of_largest(self, start: int, middle: int, end: int) -> None:
        """The largest of a stretch to its front, as a heap with the smallest of them on top."""
        size = middle - start
        for parent in range(size // 2 - 1, -1, -1):
            self._sink(start, parent, size, self._order[start + parent])
        for at in range(middle, end):
            if self._before(at, start):
                place = self._order[at]
                self._order[at] = self._order[start]
                self._sink(start, 0, size, place)

    def _sink(self, start: int, hole: int, size: int, place: int) -> None:
        """Put a place into a heap whose entry `hole` is free: down to the bottom, then up to where it belongs."""
        order, free = self._order, hole
        while 2 * free + 1 < size:
            child = 2 * free + 2
            if child == size or self._before(start + child, start + child - 1):
                child -= 1
            order[start + free] = order[start + child]
            free = child
        while free > hole and self._scores[order[start + (free - 1) // 2]] > self._scores[place]:
            order[start + free] = order[start + (free - 1) // 2]
            free = (free - 1) // 2
        order[start + free] = place

    def _before(self, a: int, b: int) -> bool:
        return self._scores[self._order[a]] > self._scores[self._order[b]]

    def _swap(self, a: int, b: int) -> None:
        self._order[a], self._order[b] = self._order[b], self._order[a]


def _depth(size: int) -> int:
    """Partitions after which a heap takes over: twice the whole binary logarithm."""
    return 2 * (size.bit_length() - 1)
