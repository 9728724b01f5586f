"""The log of reads: one entry for an open page however often it refreshes, and at least one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.server.shared_state import NOTED_NS_MAX, RecentReads
from tests.builders.service import Asked, a_prompt

AGAIN = {"hx-request": "true"}


def test_an_open_list_is_logged_once_and_every_opened_page_is_logged(service: Asked) -> None:
    service.send("evidence", a_prompt(text="the secret plan"))

    def look(**headers: str) -> None:
        assert "the secret plan" in service.get("/sessions", **headers).text

    look()
    for n in range(5):
        service.send("evidence", a_prompt(id=f"later{n}", text="more", at=f"2026-01-31T13:0{n}:00Z"))
        look(**AGAIN)
    assert service.keeper.reads == [("t-all", "first prompts of 1 session: robot s1")]
    look()
    assert len(service.keeper.reads) == 2


def test_new_prompts_are_logged_even_on_a_refresh(service: Asked) -> None:
    service.send("evidence", a_prompt(text="the secret plan"))
    service.get("/sessions", **AGAIN)
    assert len(service.keeper.reads) == 1
    service.send("evidence", a_prompt(id="p2", text="another plan", session="s2"))
    assert "another plan" in service.get("/sessions", **AGAIN).text
    assert service.keeper.reads[-1] == ("t-all", "first prompts of 2 sessions: robot s1, robot s2")
    assert len(service.keeper.reads) == 2


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 3), st.booleans())))
def test_every_read_has_a_recent_log_entry(looks: list[tuple[str, str, int, bool]]) -> None:
    lately, now, notes = RecentReads(most=4), 0, dict[tuple[str, str], int]()
    for reader, what, steps, again in looks:
        now += steps * NOTED_NS_MAX // 2
        said: list[str] = []
        lately.limit_repeat_notes(said.append, reader, now, again=again)(what)
        if said:
            notes[reader, what] = now
        assert again or said == [what]
        assert now - notes[reader, what] <= NOTED_NS_MAX


def test_a_failed_log_entry_does_not_count() -> None:
    lately, said = RecentReads(), list[str]()

    def fails(_: str) -> None:
        raise OSError

    with pytest.raises(OSError):
        lately.limit_repeat_notes(fails, "ana", 0, again=True)("words")
    lately.limit_repeat_notes(said.append, "ana", 0, again=True)("words")
    assert said == ["words"]
