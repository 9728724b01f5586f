"""The command inside this process: as ``tests.builders.cli.custody``, without the start of a Python."""

import io
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path
from typing import TextIO
from unittest.mock import patch

import pytest

from custody.cli.main import main
from tests.builders.cli import Ran, masked


def custody(folder: Path, *words: str, stdin: str = "", **environment: str) -> Ran:
    """Run ``custody`` in ``folder`` as a user would; stores, digests and the folder are masked.

    Text that UTF-8 cannot encode and bugs in custody raise their exception here.
    """
    out, err = _stream(), _stream()
    status = _run(folder, words, {**os.environ, "COLUMNS": "100", **environment}, (stdin, out, err))
    return Ran(status, masked(_text(out), folder), masked(_text(err), folder))


def custody_printing(folder: Path, words: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
    """Run ``custody`` in exactly this environment; its exit status and both streams together."""
    both = _stream()
    status = _run(folder, words, environment, ("", both, both))
    return status, _text(both)


def _run(
    folder: Path, words: Sequence[str], environment: Mapping[str, str], streams: tuple[str, TextIO, TextIO]
) -> int:
    stdin, out, err = streams
    with ExitStack() as stack:
        given = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", newline=""))
        given.write(stdin)
        given.seek(0)
        stack.enter_context(_environment(environment))
        stack.enter_context(chdir(folder))
        for name, value in {
            "stdin": given,
            "stdout": out,
            "stderr": err,
            "argv": ["custody", *words],
            "excepthook": sys.excepthook,  # main replaces it
        }.items():
            stack.enter_context(patch.object(sys, name, value))
        return _exit_status()


def _exit_status() -> int:
    with pytest.raises(SystemExit) as end:
        main()
    assert isinstance(end.value.code, int)
    return end.value.code


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


@contextmanager
def _environment(environment: Mapping[str, str]) -> Iterator[None]:
    """Make ``environment`` this process's own until the end of the block."""
    with patch.dict(os.environ, environment, clear=True):
        time.tzset()
        yield
    time.tzset()
