"""Answers that take long: the current one, or the last one with its age while a new one is computed."""

from collections.abc import Callable
from concurrent.futures import TimeoutError as WorkTimeoutError
from typing import Generic, TypeVar

from msgspec import Struct

from custody.server.page_data.cache import NS, CacheKey, StateCache
from custody.server.page_data.work import WorkProgress, WorkQueue
from custody.workspace.workspace import Progress

T = TypeVar("T")

WAIT_SECONDS = 0.3
"""How long a page waits for an answer that is computed in the queue."""


class LateAnswer(Struct, Generic[T], frozen=True, kw_only=True):
    """The answer of this state, or the last one; ``progress`` shows how far a newer one is."""

    answer: T | None
    """None before the first one."""
    age_seconds: float = 0.0
    progress: WorkProgress | None = None
    """None if the answer is current."""


def answer_late(
    queue: WorkQueue | None,
    cache: StateCache[T],
    key: CacheKey,
    state: object,
    now_ns: int,
    make: Callable[[Progress], T],
) -> LateAnswer[T]:
    """Return the current answer, or the last one while the queue computes it; without a queue, compute it now.

    An answer that is outdated only by new records is computed again when it is old enough for what it costs.
    """
    if queue is None:
        return LateAnswer(answer=cache.get(key, state, now_ns, lambda: make(Progress())))
    entry = cache.find_last(key)
    if entry is not None and not entry.is_due(state, now_ns):
        return LateAnswer(answer=entry.answer, age_seconds=max(now_ns - entry.made_ns, 0) / NS)
    job = queue.ask(
        ("late", id(cache), *key),  # two kinds of answers may have one key
        lambda work: cache.get(key, state, now_ns, lambda: make(work.progress), work.clock),
        is_background=entry is not None,
    )
    if job is not None:
        try:
            answer = job.future.result(WAIT_SECONDS)
        except WorkTimeoutError:
            pass
        else:
            queue.forget_result(job)
            return LateAnswer(answer=answer)
    return LateAnswer(
        answer=None if entry is None else entry.answer,
        age_seconds=0.0 if entry is None else max(now_ns - entry.made_ns, 0) / NS,
        progress=queue.measure(job),
    )
