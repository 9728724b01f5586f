"""A service in a separate process, and clients with persistent connections.

The clients send bytes that were made before and look at little of what comes back, so that most of the time that is
measured is the service's.
"""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.bars import BenchError

CLOCK, PROCESSOR = "clock", "processor"
Rates = dict[str, float]
"""The rate of a side: per elapsed second, and per second of its processor time."""
START_SECONDS_MAX = 60
ANSWER_SECONDS_MAX = 120
CHUNK = 65_536
HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Running:
    """A running service: its process, its port, and its first output."""

    process: "subprocess.Popen[str]"
    port: int
    said: str
    """Its first line on stderr."""


@contextmanager
def running(words: Sequence[str], folder: Path) -> Iterator[Running]:
    """Yield a program that prints an object with its ``port`` once it answers; killed after the block."""
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    late = threading.Timer(START_SECONDS_MAX, process.kill)
    late.start()
    try:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        late.cancel()
        if not line:
            raise BenchError(f"the service did not start: {process.stderr.read()}")
        yield Running(process, int(json.loads(line)["port"]), process.stderr.readline())
    finally:
        late.cancel()
        process.kill()
        process.communicate()


@contextmanager
def serving(folder: Path, database: str | None) -> Iterator[Running]:
    """Start ``custody serve`` as a user does, on a free port."""
    words = [sys.executable, "-m", "custody", "serve", "--port", "0", "--json"]
    with running(words + ([] if database is None else ["--database", database]), folder) as made:
        yield made


def request(path: str, body: object, token: str) -> bytes:
    """Return the bytes of a request with a JSON body."""
    data = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data


class Client:
    """One persistent connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket = self._connected()

    def ask(self, data: bytes) -> tuple[int, bytes]:
        """Send a request; return the status and the body of the answer."""
        try:
            self._socket.sendall(data)
            got = self._more()
        except (OSError, BenchError):
            # The service closes an idle connection; connect again.
            self._socket.close()
            self._socket = self._connected()
            self._socket.sendall(data)
            got = self._more()
        while HEAD_END not in got:
            got += self._more()
        head, _, body = got.partition(HEAD_END)
        length = _LENGTH.search(head)
        if length is None:
            raise BenchError(f"an answer without a length: {head[:200]!r}")
        parts, missing = [body], int(length[1]) - len(body)
        while missing > 0:
            parts.append(self._more())
            missing -= len(parts[-1])
        return int(head[9:12]), b"".join(parts)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _connected(self) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self._port), ANSWER_SECONDS_MAX)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def _more(self) -> bytes:
        chunk = self._socket.recv(CHUNK)
        if not chunk:
            raise BenchError("the service closed the connection")
        return chunk


@contextmanager
def clients(port: int, count: int) -> Iterator[list[Client]]:
    """Open this many connections, closed after the block."""
    with ExitStack() as stack:
        made = []
        for _ in range(count):
            made.append(Client(port))
            stack.callback(made[-1].close)
        yield made


def dealt(items: Sequence[bytes], hands: int) -> list[list[bytes]]:
    """Distribute items in turn.

    >>> dealt([b"a", b"b", b"c"], 2)
    [[b'a', b'c'], [b'b']]
    """
    return [list(items[n::hands]) for n in range(hands)]


def drive(asked: Sequence[Client], requests: Sequence[bytes], expected: int) -> float:
    """Send all requests, each client its share one after the other; the seconds that it took.

    An answer with another status than ``expected`` is an error: what failed quickly must not look fast.
    """
    wrong: list[str] = []
    ready = threading.Barrier(len(asked) + 1)

    def work(client: Client, own: Sequence[bytes]) -> None:
        ready.wait()
        try:
            for data in own:
                status, body = client.ask(data)
                if status != expected:
                    wrong.append(f"status {status}: {body[:500]!r}")
                    return
        except (OSError, BenchError) as error:
            wrong.append(str(error))

    hands = dealt(requests, len(asked))
    threads = [threading.Thread(target=work, args=pair) for pair in zip(asked, hands, strict=True)]
    for thread in threads:
        thread.start()
    ready.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - began
    if wrong:
        raise BenchError(wrong[0])
    return took


def processor_seconds(*pids: int) -> float:
    """Return the processor time of processes and their children, in user and kernel mode."""
    used = 0.0
    for pid in pids:
        process = Path(f"/proc/{pid}")
        try:
            ticks = process.joinpath("stat").read_text().rpartition(")")[2].split()[11:15]
            started = process.joinpath("task", str(pid), "children").read_text().split()
        except OSError:
            continue  # it has just ended; its time counts for its parent
        used += sum(map(int, ticks)) / TICKS + processor_seconds(*map(int, started))
    return used


TICKS = os.sysconf("SC_CLK_TCK")
