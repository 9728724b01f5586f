"""What the log of the service shows: reads of texts for a collector, warnings alone at a terminal."""

import io
import logging
from collections.abc import Iterator

import pytest

from custody.server.auth import reads
from custody.server.listener import configure_service_logging


class Stream(io.StringIO):
    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.fixture
def _levels() -> Iterator[None]:
    """Give the loggers their handlers and levels back."""
    loggers = [logging.getLogger(name) for name in ("custody.service", "custody.service.reads", "uvicorn")]
    before = [(logger.handlers, logger.level, logger.propagate) for logger in loggers]
    yield
    for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


@pytest.mark.usefixtures("_levels")
@pytest.mark.parametrize("is_terminal", [False, True])
def test_reads_of_texts_are_not_logged_to_a_terminal(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool) -> None:
    stream = Stream(is_terminal=is_terminal)
    monkeypatch.setattr("sys.stderr", stream)
    configure_service_logging()
    reads.info("text read: %s", "first prompts of 48 sessions")
    logging.getLogger("custody.service").info("the database is back")
    assert stream.getvalue().count("text read") == (0 if is_terminal else 1)
    assert stream.getvalue().count("the database is back") == 1
    assert stream.getvalue().count("\n") == (1 if is_terminal else 2)
