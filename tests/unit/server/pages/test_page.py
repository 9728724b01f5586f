"""A failed part of a page: input errors are shown, messages of the store are only logged."""

import logging

import pytest

from custody.core.errors import GitError, InputError, StoreError, WorldError
from custody.server.pages.page import attempt_page_part

MESSAGE = "cannot open '/srv/custody/evidence.db' on db.internal"


@pytest.mark.parametrize("family", [StoreError, GitError, WorldError])
def test_files_and_servers_are_named_in_the_log_only(
    family: type[WorldError], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("custody.service"), "propagate", True)

    def ask() -> int:
        raise family(MESSAGE, hint="look at /srv/custody")

    assert attempt_page_part(ask) == "The store is not available; try again."
    assert MESSAGE in caplog.text


def test_an_input_error_is_shown() -> None:
    def ask() -> int:
        raise InputError("no commit is named 'x'", hint="name another")

    assert attempt_page_part(ask) == "No commit is named 'x'; name another."
