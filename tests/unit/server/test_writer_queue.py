"""The writer: waiting work is committed together, failures stay separate, and a recovered store is used again."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from custody.core.errors import StoreError
from custody.core.wire.arrival import Arrival
from custody.server.app import intake as ingest
from custody.server.app.intake import IngestFate, IngestResult, Intake, StoreWriter
from custody.server.problems import HttpProblem
from custody.server.writer_queue import GROUP_EVENTS, Metrics, Writer
from tests.builders.service import Asked, TestKeeper, a_prompt, a_trace, asked


def arrivals(keeper: TestKeeper, *ids: str) -> list[Arrival]:
    intake = Intake(keeper.workspaces["default"])
    made = [intake.event(a_prompt(id)) for id in ids]
    return [arrival for item in made if isinstance(item, tuple) for arrival in item]


class Held:
    """Records the size of each commit, and blocks the first until it is released."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.groups: list[int] = []
        self.go = threading.Event()
        self.entered = threading.Event()
        real = StoreWriter.keep

        def keep(keeping: StoreWriter, group: Sequence[Arrival]) -> list[IngestResult]:
            self.groups.append(len(group))
            self.entered.set()
            assert self.go.wait(30)
            return real(keeping, group)

        patch.setattr(StoreWriter, "keep", keep)


def test_what_waits_is_committed_together(keeper: TestKeeper, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)

    async def run() -> list[list[IngestResult]]:
        writer = Writer(keeper.workspaces["default"], Metrics(), 1000)
        waiting = [writer.put(arrivals(keeper, "first"))]
        await asyncio.to_thread(held.entered.wait, 30)
        waiting += [writer.put(arrivals(keeper, f"p{n}")) for n in range(GROUP_EVENTS + 10)]
        waiting.append(writer.put(arrivals(keeper, *(f"q{n}" for n in range(300)))))
        held.go.set()
        done = await asyncio.gather(*waiting)
        await asyncio.to_thread(writer.close)
        return done

    done = asyncio.run(run())

    assert held.groups[:2] == [1, GROUP_EVENTS]
    assert held.groups[2:] == [310], "a request is never split"
    assert all(one.fate is IngestFate.NEW for kept in done for one in kept)
    assert len({one.record for kept in done for one in kept}) == 1 + GROUP_EVENTS + 10 + 300


def test_none_fails_for_another(keeper: TestKeeper, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)
    real = ingest.commit_request_arrivals

    def keep(store: object, group: Sequence[Arrival]) -> list[IngestResult]:
        if any("poison" in str(one.entry.key) for one in group):
            raise StoreError("no row can hold this")
        return real(store, group)  # type: ignore[arg-type]

    monkeypatch.setattr(ingest, "commit_request_arrivals", keep)

    async def run() -> list[list[IngestResult] | BaseException]:
        writer = Writer(keeper.workspaces["default"], Metrics(), 1000)
        first = writer.put(arrivals(keeper, "first"))
        await asyncio.to_thread(held.entered.wait, 30)
        waiting = [writer.put(arrivals(keeper, name)) for name in ("a", "poison", "b")]
        held.go.set()
        done = await asyncio.gather(first, *waiting, return_exceptions=True)
        await asyncio.to_thread(writer.close)
        return done

    done = asyncio.run(run())

    assert [isinstance(one, StoreError) for one in done] == [False, False, True, False]


def test_too_many_waiting_requests_get_a_retry_time(keeper: TestKeeper, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)

    async def run() -> None:
        writer = Writer(keeper.workspaces["default"], Metrics(), 2)
        waiting = [writer.put(arrivals(keeper, "0"))]
        await asyncio.to_thread(held.entered.wait, 30)
        waiting += [writer.put(arrivals(keeper, name)) for name in ("1", "2")]
        with pytest.raises(HttpProblem) as refused:
            writer.put(arrivals(keeper, "3"))
        assert refused.value.status == 503 and "retry-after" in refused.value.headers
        held.go.set()
        await asyncio.gather(*waiting)
        await asyncio.to_thread(writer.close)

    asyncio.run(run())


def test_what_waits_at_the_end_is_written(keeper: TestKeeper, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)

    async def run() -> list[list[IngestResult]]:
        writer = Writer(keeper.workspaces["default"], Metrics(), 100)
        waiting = [writer.put(arrivals(keeper, str(n))) for n in range(20)]
        ending = asyncio.create_task(asyncio.to_thread(writer.close))
        await asyncio.sleep(0)
        held.go.set()
        await ending
        return await asyncio.gather(*waiting)

    assert len(asyncio.run(run())) == 20


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_bug_is_said_and_the_next_request_is_answered(service: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(ingest, "commit_request_arrivals", lambda *_: 1 / 0)
        answer = service.send("traces", a_trace())
        assert answer.status_code == 500
        assert "ZeroDivision" not in answer.text

    assert service.send("traces", a_trace()).status_code == 201


def test_a_store_that_cannot_be_used_is_a_503_until_it_is_back(
    keeper: TestKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    with asked(keeper) as made:
        assert made.send("traces", a_trace("before")).status_code == 201
        file = made.workspace.folder / ".git" / "custody" / "custody.db"
        away = file.with_suffix(".away")

        def gone(*_: object, **__: object) -> None:
            raise StoreError(f"{away} is gone")

        with monkeypatch.context() as patch:
            patch.setattr(ingest, "commit_request_arrivals", gone)
            patch.setattr("custody.workspace.workspace.open_sqlite", gone)
            for answer in (made.send("traces", a_trace()), made.get("/ready"), made.get("/api/v1/traces")):
                assert answer.status_code == 503
                assert int(answer.headers["retry-after"]) > 0
                assert str(away) not in answer.text, "a caller has no business with our files"
            assert made.client.get("/health").status_code == 200

        assert made.get("/ready").status_code == 200
        assert made.send("traces", a_trace()).status_code == 201
        assert made.kept() == ["import:trace:before", "import:trace:t1"]
