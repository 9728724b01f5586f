"""A part of a page that cannot be had: the caller's own mistakes in words, the surroundings' words not at all."""

import logging

import pytest

from custody.core.errors import GitError, InputError, StoreError, WorldError
from custody.server.pages.attempt import attempt_question

WORDS = "cannot open '/srv/custody/evidence.db' on db.internal"


@pytest.mark.parametrize("family", [StoreError, GitError, WorldError])
def test_files_and_servers_are_named_in_the_log_only(
    family: type[WorldError], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("custody.service"), "propagate", True)

    def ask() -> int:
        raise family(WORDS, hint="look at /srv/custody")

    said = attempt_question(ask)
    assert said == "The store cannot be used now; try again."
    assert WORDS in caplog.text


def test_what_the_caller_can_mend_is_said() -> None:
    def ask() -> int:
        raise InputError("no commit is named 'x'", hint="name another")

    assert attempt_question(ask) == "No commit is named 'x'; name another."
