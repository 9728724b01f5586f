"""Real servers on loopback, reached by names and public addresses, for link checks."""

import asyncio
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import httpcore2
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from custody.cite.web.transport import NoSuchName, Resolver

PUBLIC = "93.184.215.14"
HANG = b""
"""A page that never answers."""
DRIP = b"\0"
"""A page that sends a little now and then, and never finishes."""


class Asked(NamedTuple):
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]


Page = bytes | Callable[[Asked], bytes]


def said(status: int, *headers: str, body: bytes = b"") -> bytes:
    """Return an answer as bytes."""
    lines = [f"HTTP/1.1 {status} Some", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


@dataclass
class Web:
    """A server: its answers by path, its clients, their requests. Every public address leads to it."""

    pages: dict[str, Page] = field(default_factory=dict)
    port: int = 0
    accepted: int = 0
    asked: list[Asked] = field(default_factory=list)
    dialled: list[tuple[str, int]] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    tls: ssl.SSLContext | None = None
    told: list[str] = field(default_factory=list)
    """The addresses of finished checks, if a test records them."""

    async def dial(self, address: str, port: int, timeout: float | None) -> httpcore2.AsyncNetworkStream:
        """Connect to this server, for any public address; the address was checked before."""
        self.dialled.append((address, port))
        return await httpcore2.AnyIOBackend().connect_tcp("127.0.0.1", self.port, timeout=timeout)

    @property
    def lines(self) -> list[str]:
        """Return the requests in short form."""
        return [f"{one.method} {one.path}" for one in self.asked]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has disconnected
        finally:
            self.at_once -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        asked = Asked(method, path, {name.lower(): value for name, value in headers.items()})
        self.asked.append(asked)
        page = self.pages.get(path, said(404))
        answer = page(asked) if callable(page) else page
        if answer == HANG:
            await reader.read()
        while answer == DRIP:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.02)
        writer.write(answer)
        await writer.drain()


@contextmanager
def a_web(pages: Mapping[str, Page] | None = None, tls: ssl.SSLContext | None = None) -> Iterator[Web]:
    """Yield a server in its own thread, until the block ends."""
    web = Web(dict(pages or {}), tls=tls)
    ready, ended = threading.Event(), []

    async def run() -> None:
        done = asyncio.Event()
        ended.append((asyncio.get_running_loop(), done))
        server = await asyncio.start_server(web.serve, "127.0.0.1", 0, ssl=tls)
        web.port = server.sockets[0].getsockname()[1]
        ready.set()
        await done.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield web
    finally:
        loop, done = ended[0]
        loop.call_soon_threadsafe(done.set)
        thread.join(10)


class Names:
    """A name service: the answers for each name in turn, the last one forever; ``looked_up`` counts."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self._answers = answers
        self.looked_up: list[str] = []

    async def __call__(self, name: str) -> list[str]:
        self.looked_up.append(name)
        if not name.endswith(".example.net"):
            raise NoSuchName(f"unknown host '{name}'")
        left = self._answers.get(name.removesuffix(".example.net"), [[PUBLIC]])
        return left.pop(0) if len(left) > 1 else left[0]


def names(**answers: list[list[str]]) -> Names:
    """Resolve every name below ``example.net`` to a public address, unless it has its own answers."""
    made = Names(**answers)
    resolver: Resolver = made
    assert resolver is made
    return made


def certificates(folder: Path, host: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return the certificates for TLS: of a server named ``host``, and of a client that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.now().astimezone()
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / f"{host}.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM) + secret)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cafile=str(file))
