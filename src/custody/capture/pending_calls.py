"""The calls of a transcript that wait for their results."""

from typing import Any

PENDING_MAX = 1000
PENDING_BYTES_MAX = 64 * 1024 * 1024
"""Calls that wait for their results: more than ever run at once; older ones are forgotten."""


class PendingCalls:
    """Calls that wait for their results, as many as memory allows."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[dict[str, Any], int]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._calls)

    def put(self, call: str, made: dict[str, Any], size: int) -> None:
        """Remember a call whose line has ``size`` bytes."""
        self.pop(call)
        self._calls[call] = (made, size)
        self._bytes += size
        while len(self._calls) > PENDING_MAX or self._bytes > PENDING_BYTES_MAX:
            self.pop(next(iter(self._calls)))

    def get(self, call: str) -> dict[str, Any] | None:
        """The call, which goes on waiting."""
        return self._calls.get(call, (None, 0))[0]

    def pop(self, call: str) -> dict[str, Any] | None:
        """The call, which waits no longer."""
        made, size = self._calls.pop(call, (None, 0))
        self._bytes -= size
        return made
