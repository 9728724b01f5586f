"""The service benches: requests are as described, both sides answer, and figures get verdicts."""

import json
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient

from bench import service, service_blame, service_ingest, service_load
from bench.bars import BenchError, at_least
from bench.service_load import CLOCK
from custody.server.app.intake import Intake, RejectedItem
from custody.server.routes import lines as route
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.house.not_run import CannotBeHad


def a_part(*rates: tuple[float, float], bar: float = 0.3) -> service.Part:
    """Return a part with these rates, pair by pair; the first three rounds are warm-up."""
    ours, others = deque([(1.0, 1.0)] * 2 + list(rates)), deque([(1.0, 1.0), *rates])

    def set_up(_folder: Path) -> Iterator[service.Sides]:
        yield service.Sides(lambda: {CLOCK: ours.popleft()[0]}, lambda: {CLOCK: others.popleft()[1]})

    return service.Part(name="x", what="x", baseline="y", bar=at_least(bar), set_up=set_up)


@pytest.mark.parametrize(("rate", "verdict"), [(35.0, "met"), (25.0, "missed")])
def test_more_is_better(rate: float, verdict: str, tmp_path: Path) -> None:
    done = service.measured(a_part(*[(rate, 100.0)] * 15), tmp_path, 15, lambda _: None)
    assert done.verdict.value == verdict
    assert done.ratios == (rate / 100,) * 15


def test_ratios_far_apart_are_taken_again_and_then_called_unstable(tmp_path: Path) -> None:
    done = service.measured(a_part(*[(10.0, 100.0), (90.0, 100.0)] * 30), tmp_path, 20, lambda _: None)
    assert done.verdict.value == "unstable"
    assert "unstable" in service.table([done])


def _no_pgbench() -> list[service.Sides]:
    raise CannotBeHad("there is no 'pgbench' here")


def test_what_cannot_be_had_is_not_run(tmp_path: Path) -> None:
    def set_up(_folder: Path) -> Iterator[service.Sides]:
        yield from _no_pgbench()

    part = service.Part(name="x", what="x", baseline="y", bar=at_least(1), set_up=set_up)
    done = service.measured(part, tmp_path, 15, lambda _: None)
    assert done.verdict.value == "not run"
    assert "not run: there is no 'pgbench' here" in service.table([done])


def test_a_part_that_is_none_is_refused() -> None:
    with pytest.raises(SystemExit):
        service.main(["nothing"], out=StringIO(), err=StringIO())


def test_what_is_sent_is_taken(tmp_path: Path) -> None:
    sent = json.dumps([service_ingest.a_trace(str(n)) for n in range(3)]).encode()
    items = Intake(Workspace(a_git_folder(tmp_path))).read("traces", sent).items
    assert not any(isinstance(item, RejectedItem) for item in items)


def test_both_sides_answer_the_question_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "answer_blame_request", None)  # so that it is restored after the test
    answers = [_answered(app()) for app in service_blame.APPS.values()]
    assert answers[0] == answers[1]
    assert len(answers[0]["attributions"]) == service_blame.SEGMENTS


def _answered(app: Any) -> Any:
    headers = {"Authorization": f"Bearer {service_blame.TOKEN}", "Host": "127.0.0.1"}
    with TestClient(app, base_url="http://127.0.0.1") as client:
        answer = client.post(service_blame.PATH, json=service_blame.question(), headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


class Answers:
    """A client with fixed answers."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)

    def ask(self, _data: bytes) -> tuple[int, bytes]:
        return self.statuses.pop(0), b"words"

    def close(self) -> None:
        pass


@contextmanager
def hearing(*statuses: int) -> Iterator[Any]:
    yield [Answers(*statuses)]


def test_a_quick_refusal_does_not_count_as_speed() -> None:
    with hearing(201, 201) as clients:
        assert service_load.drive(clients, [b""] * 2, 201) >= 0
    with hearing(201, 503) as clients, pytest.raises(BenchError, match="status 503"):
        service_load.drive(clients, [b""] * 2, 201)
