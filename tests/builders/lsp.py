"""An editor for the language server: it starts ``custody lsp`` and speaks to it by hand."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

from tests.builders.hooks import a_recorded_edit, a_recorded_event, a_recorded_session
from tests.builders.lines import SESSION, Scene, moment, text

WAIT = 60
LINES, AGENTS_LINE = 2_000, 1_501


def a_long_file(folder: Path) -> tuple[Path, str]:
    """Return a repository with ``app.py`` and its text: a person's lines, and an agent's one in line AGENTS_LINE."""
    scene = Scene(folder)
    root = scene.built.path
    peoples = [f"value_{number} = read_value({number})" for number in range(LINES)]
    before = text(*peoples)
    after = text(*peoples[: AGENTS_LINE - 1], "def discount(prices, percent):", *peoples[AGENTS_LINE - 1 :])
    base = scene.committed(at=-100, app__py=before)
    scene.saw(
        a_recorded_session(session=SESSION, model="maker/model-1", at=moment(1), root=root),
        a_recorded_event("UserPromptSubmit", {"prompt": "add a discount"}, session=SESSION, at=moment(2), root=root),
        a_recorded_edit("app.py", before, after, session=SESSION, at=moment(3), root=root),
    )
    scene.committed(base, at=20, app__py=after)
    return root, after


class Editor:
    """A connection to a language server; answers and notifications are JSON."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "custody", "lsp", *options],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._messages: Queue[dict[str, Any] | None] = Queue()
        self._waiting: list[dict[str, Any]] = []
        self._last = 0
        Thread(target=self._read, daemon=True).start()

    def start(self, options: object = None, *, formats: list[str] | None = None) -> dict[str, Any]:
        """Begin, as an editor that shows these formats of hovers."""
        hover = {} if formats is None else {"textDocument": {"hover": {"contentFormat": formats}}}
        told = self.ask("initialize", {"processId": None, "capabilities": hover, "initializationOptions": options})
        self.note("initialized", {})
        return dict(told)

    def raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def note(self, method: str, params: object) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: object) -> Any:
        """Send a request and return its result, or its error."""
        self._last += 1
        self._send({"id": self._last, "method": method, "params": params})
        while True:
            message = self._next()
            if message.get("id") == self._last and "method" not in message:
                return message["error"] if "error" in message else message.get("result")
            self._waiting.append(message)

    def until(self, method: str) -> Any:
        """Return the next notification of this method."""
        for number, message in enumerate(self._waiting):
            if message.get("method") == method:
                return self._waiting.pop(number)["params"]
        while True:
            message = self._next()
            if message.get("method") == method:
                return message["params"]
            self._waiting.append(message)

    def open(self, file: Path, text: str) -> str:
        """Open a file with a text, saved or not; return its URI."""
        uri = file.as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.note("textDocument/didOpen", {"textDocument": document})
        return uri

    def hover(self, uri: str, line: int) -> str | None:
        """Return the text of a hover; lines begin at 1."""
        answer = self.ask("textDocument/hover", at(uri, line))
        return None if answer is None else str(answer["contents"]["value"])

    def titles(self, uri: str) -> list[tuple[int, str]]:
        """Return the first line and the title of every lens."""
        lenses = self.ask("textDocument/codeLens", {"textDocument": {"uri": uri}})
        return [(lens["range"]["start"]["line"] + 1, lens["command"]["title"]) for lens in lenses]

    def stop(self) -> int:
        """End the server and return its status."""
        self.ask("shutdown", None)
        self.note("exit", None)
        return self.process.wait(WAIT)

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def _next(self) -> dict[str, Any]:
        message = self._messages.get(timeout=WAIT)
        assert message is not None, "the server has ended"
        return message

    def _read(self) -> None:
        out = self.process.stdout
        assert out is not None
        while header := out.readline():
            if header.startswith(b"Content-Length:"):
                size = int(header.partition(b":")[2])
                while out.readline().strip():
                    pass
                self._messages.put(json.loads(out.read(size)))
        self._messages.put(None)


def at(uri: str, line: int) -> dict[str, Any]:
    """Return the parameters of a question about the start of a line."""
    return {"textDocument": {"uri": uri}, "position": {"line": line - 1, "character": 0}}


@contextmanager
def an_editor(folder: Path, *options: str) -> Iterator[Editor]:
    """Start an editor's server; it is ended afterwards, whatever happens."""
    editor = Editor(folder, *options)
    try:
        yield editor
    finally:
        editor.process.kill()
        editor.process.wait()
        for stream in (editor.process.stdin, editor.process.stdout):
            if stream is not None:
                stream.close()
