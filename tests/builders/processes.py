"""Records the processes that start during a test."""

import subprocess

import pytest


def started_from_now(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list that records every process started from now on."""
    started: list[object] = []
    real = subprocess.Popen.__init__

    def begin(self: subprocess.Popen[bytes], *arguments: object, **more: object) -> None:
        started.append(arguments)
        real(self, *arguments, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess.Popen, "__init__", begin)
    return started
