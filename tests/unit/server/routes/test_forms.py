"""The forms of pages: what protects them, that a second submit changes nothing, and that hostile text stays text."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.server.app.tenancy import Grant, TokenScope
from custody.server.form_token import VALID_SECONDS, check_form_token, make_form_key, make_form_token
from custody.server.problems import HttpProblem
from tests.builders.judged import Judged
from tests.builders.service import Asked, a_keeper, asked

READ_WRITE = "read-write"
REQUESTS_MAX = 60
"""A page that takes long shows its progress first."""
ORIGIN = {"origin": "http://127.0.0.1"}
HOSTILE = '"><script>alert(1)</script> @all \u202e [x](http://evil.example) ' + "'; rm -rf /"


class Browser:
    """A browser with a token in its cookie, on the page of one change."""

    def __init__(self, judged: Judged, made: Asked, token: str = READ_WRITE) -> None:
        self.made, self.token = made, token
        self.change = f"{judged.first}..{judged.second}"

    def page(self, next_: str = "/changes") -> str:
        held = {"cookie": f"custody_token={self.token}", "accept": "text/html"}
        answer: Any = None
        for _ in range(REQUESTS_MAX):
            answer = self.made.client.get("/change-people", params={"change": self.change, "next": next_}, headers=held)
            if answer.status_code != 202:
                break
        assert answer.status_code == 200, answer.text
        return str(answer.text)

    def fields(self, path: str = "/decide") -> dict[str, str]:
        """Return the hidden fields of the first form of the page that posts there."""
        form = self.page().partition(f'action="{path}"')[2].partition("</form>")[0]
        return {
            name: unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form)
        }

    def post(self, path: str, fields: Any, **headers: str) -> Any:
        sent = {"cookie": f"custody_token={self.token}", "accept": "text/html", **ORIGIN, **headers}
        self.made.client.cookies.clear()
        return self.made.client.post(path, data=fields, headers=sent, follow_redirects=False)


@pytest.fixture
def judged(tmp_path: Path) -> Judged:
    made = Judged(tmp_path / "repository")
    made.edit()
    return made


@pytest.fixture
def browser(judged: Judged) -> Iterator[Browser]:
    keeper = a_keeper(judged.workspace)
    keeper.grants[READ_WRITE] = Grant("default", frozenset((TokenScope.READ, TokenScope.WRITE)), "t-rw", None)
    with asked(keeper) as made:
        yield Browser(judged, made)


def recorded(browser: Browser) -> list[str]:
    return [key for key in browser.made.kept() if key.startswith("decision:") or ":read:" in key]


def test_a_decision_from_the_page_is_recorded_once_and_shown_at_once(browser: Browser) -> None:
    fields = {**browser.fields(), "decision": "rejected", "reason": "no tests"}
    answers = [browser.post("/decide", fields) for _ in range(3)]
    assert [(answer.status_code, answer.headers["location"]) for answer in answers] == [(303, "/changes")] * 3
    assert len(recorded(browser)) == 1
    assert "1 review: 0 accepted, 0 changed, 1 rejected" in browser.page()
    listed = browser.made.get("/api/v1/trust/claude-code").json()
    assert (listed["history"][0]["actor"], listed["history"][0]["reason"]) == ("token t-rw", "no tests")


def test_another_decision_corrects_the_first(browser: Browser) -> None:
    for decision in ("rejected", "accepted"):
        assert browser.post("/decide", {**browser.fields(), "decision": decision, "reason": "seen"}).status_code == 303
    assert "1 review: 1 accepted, 0 changed, 0 rejected" in browser.page()


def test_hunks_marked_on_the_page_are_read(browser: Browser) -> None:
    assert "0 of 1 hunk read" in browser.page()
    fields = browser.fields("/mark-read")
    answers = [browser.post("/mark-read", fields, accept="application/json") for _ in range(2)]
    assert [(answer.status_code, answer.json()["recorded"]) for answer in answers] == [(200, 1), (200, 0)]
    reader = answers[0].json()["hunks"][0]["readers"][0]
    assert (reader["person"], reader["via"], reader["assurance"]) == ("token t-rw", "page", "self-reported")
    assert "1 of 1 hunk read" in browser.page() and len(recorded(browser)) == 1


@pytest.mark.parametrize("path", ["/decide", "/mark-read"])
def test_a_form_of_a_stranger_another_site_or_an_old_page_records_nothing(browser: Browser, path: str) -> None:
    fields = {**browser.fields(path), "decision": "accepted", "reason": "x"}
    clock = browser.made.app.state.service.settings.now_ns() // 10**9
    key = make_form_key(READ_WRITE)
    old, future = (make_form_token(key, "default", clock + shift) for shift in (-VALID_SECONDS - 1, 60))
    forged: list[tuple[int, dict[str, str], dict[str, str]]] = [
        (401, fields, {"cookie": ""}),
        (401, fields, {"cookie": "custody_token=wrong"}),
        (403, fields, {"cookie": "custody_token=read"}),
        (403, fields, {"origin": "https://evil.example"}),
        (403, fields, {"origin": "null"}),
        (401, fields, {"sec-fetch-site": "cross-site"}),
        (401, fields, {"sec-fetch-site": "same-site"}),
        (403, {**fields, "csrf": ""}, {}),
        (403, {**fields, "csrf": old}, {}),
        (403, {**fields, "csrf": future}, {}),
        (403, {**fields, "csrf": make_form_token(key, "other", clock)}, {}),
        (403, {**fields, "csrf": make_form_token(make_form_key("all-scopes"), "default", clock)}, {}),
        (403, {**fields, "csrf": fields["csrf"].replace(".", "0.")}, {}),
        (403, {**fields, "csrf": "\u0661" + fields["csrf"]}, {}),
    ]
    for status, sent, headers in forged:
        answer = browser.post(path, sent, **headers)
        assert answer.status_code == status, (headers, sent["csrf"], answer.text)
    held = {"cookie": f"custody_token={READ_WRITE}"}
    assert browser.made.client.post(path, data=fields, headers=held).status_code == 401, "no origin"
    json_sent = browser.made.client.post(path, json=fields, headers={**held, **ORIGIN})
    assert json_sent.status_code == 415
    assert recorded(browser) == []


def test_a_reader_without_the_right_gets_commands_and_no_form(browser: Browser) -> None:
    browser.token = "read"
    page = unescape(browser.page())
    assert "<form" not in page and "custody trust record --outcome merged claude-code" in page
    assert f"custody read {browser.change} --hunk" in page


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"decision": "merged"}, "choose accepted, modified or rejected"),
        ({"decision": "rejected", "reason": " \n "}, "needs a reason"),
        ({"decision": "rejected", "reason": "x" * 1001}, "1,001 characters"),
        ({"decision": "accepted", "agent": "no-agent"}, "no lines of"),
        ({"decision": "accepted", "change": "main"}, "a decision needs a change"),
        ({"decision": "accepted", "change": "HEAD..--output=x"}, "invalid revision"),
        ({"decision": ["accepted", "rejected"]}, "occurs 2 times"),
    ],
)
def test_what_cannot_be_recorded_is_an_error(browser: Browser, fields: dict[str, Any], message: str) -> None:
    answer = browser.post("/decide", {**browser.fields(), **fields}, accept="application/json")
    assert answer.status_code == 422 and message in answer.json()["detail"]
    assert recorded(browser) == []


def test_a_hostile_reason_stays_text(browser: Browser) -> None:
    assert browser.post("/decide", {**browser.fields(), "decision": "rejected", "reason": HOSTILE}).status_code == 303
    held = {"cookie": f"custody_token={READ_WRITE}", "accept": "text/html"}
    for path in ("/agent?name=claude-code", "/agent-account?name=claude-code"):
        assert "<script>alert" not in browser.made.client.get(path, headers=held).text
    (decision,) = browser.made.get("/api/v1/trust/claude-code").json()["history"]
    assert decision["reason"].startswith('"><script>')


@pytest.mark.parametrize("to", ["https://evil.example/", "//evil.example", "/\\evil.example", "", "/login"])
def test_a_form_returns_to_this_service_only(browser: Browser, to: str) -> None:
    fields = {**browser.fields(), "decision": "accepted", "reason": "fine", "next": to}
    assert browser.post("/decide", fields).headers["location"] == "/overview"


@given(st.text(max_size=80), st.binary(max_size=8), st.integers(0, 2**40))
def test_only_its_own_token_opens_a_form(sent: str, key: bytes, now_s: int) -> None:
    with pytest.raises(HttpProblem):
        check_form_token(sent, key, "default", now_s)
    check_form_token(make_form_token(key, "default", now_s), key, "default", now_s)
    check_form_token(make_form_token(key, "default", now_s), key, "default", now_s + VALID_SECONDS - 1)
