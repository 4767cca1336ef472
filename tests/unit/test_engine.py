"""The one thread that owns MLX."""

import threading

import pytest

from asr_core.engine import Engine, Priority


def test_jobs_run_in_one_thread_and_bring_back_values_and_errors():
    engine = Engine()
    names = {engine.run(lambda: threading.current_thread().name) for _ in range(3)}
    assert names == {"mlx"}
    with pytest.raises(ZeroDivisionError):
        engine.run(lambda: 1 / 0)
    assert engine.run(lambda: 7) == 7


def test_a_job_may_ask_for_another():
    engine = Engine()
    assert engine.run(lambda: engine.run(lambda: 3) + 1) == 4


def test_live_goes_before_files_and_equals_keep_their_order():
    engine, gate, order = Engine(), threading.Event(), []
    engine.submit(Priority.FILE, gate.wait)
    waiting = [engine.submit(Priority.FILE, order.append, f"file {n}") for n in range(3)]
    waiting += [engine.submit(Priority.LIVE, order.append, f"live {n}") for n in range(2)]
    gate.set()
    for future in waiting:
        future.result(timeout=5)
    assert order == ["live 0", "live 1", "file 0", "file 1", "file 2"]


def test_a_cancelled_job_never_runs():
    engine, gate, ran = Engine(), threading.Event(), []
    engine.submit(Priority.FILE, gate.wait)
    waiting = engine.submit(Priority.FILE, ran.append, 1)
    assert waiting.cancel()
    gate.set()
    engine.run(lambda: None)
    assert ran == []
