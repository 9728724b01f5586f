"""The language server: hovers, lenses, hints, actions and diagnostics of a running editor."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypeVar, cast

import msgspec
from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from custody import __version__
from custody.core.errors import CustodyError
from custody.ledger.sessions import shorten_session_ids
from custody.lsp.diagnostics import GateFinding, GateWatch
from custody.lsp.render import AuthorBlock, MarkMode, find_commit, find_session, list_author_blocks, render_hover
from custody.lsp.repositories import EditorFile, MakeWorkspace, OpenRepositories

T = TypeVar("T")

MESSAGE_BYTES_MAX = 128 << 20
HEADER_BYTES_MAX = 4_096
HINTS_MAX = 1_000
SHA_DIGITS = 7
GATE_PAUSE_SECONDS = 0.8
_LENGTH_DIGITS_MAX = 12
_DISCARD_BYTES = 1 << 20
_SEVERITIES = {
    "block": lsp.DiagnosticSeverity.Error,
    "review": lsp.DiagnosticSeverity.Warning,
    "approve": lsp.DiagnosticSeverity.Information,
}


class EditorSettings(msgspec.Struct, frozen=True):
    """What the user set for custody in the editor; unknown keys are ignored."""

    lens: MarkMode = "agents"
    hints: MarkMode = "off"
    diagnostics: bool = True
    pause: Annotated[float, msgspec.Meta(ge=0, le=60)] = GATE_PAUSE_SECONDS
    """Seconds after a save before the gate runs."""


class LimitedInput:
    """Messages of an editor; a header or body that is too large is skipped, and the connection goes on."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readline(self) -> bytes:
        """Return the next header; one that cannot be a header is returned as an unknown one."""
        line = self._stream.readline(HEADER_BYTES_MAX)
        if (
            line.lower().startswith(b"content-length:")
            and len(line) > len(b"content-length: \r\n") + _LENGTH_DIGITS_MAX
        ):
            return b"skipped: 1\r\n"
        return line

    def read(self, size: int) -> bytes:
        """Return a body, or ``null`` for one that is too large; its bytes are read and dropped."""
        if size <= MESSAGE_BYTES_MAX:
            return self._stream.read(size)
        while size > 0 and (piece := self._stream.read(min(size, _DISCARD_BYTES))):
            size -= len(piece)
        return b"null" if size <= 0 else b""


class OpenOutput:
    """The stream to an editor, which the end of the server flushes and leaves open."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        """Send a message."""
        self._stream.write(data)

    def flush(self) -> None:
        """Send what is waiting."""
        self._stream.flush()

    def close(self) -> None:
        """Send what is waiting; the stream belongs to the caller."""
        self._stream.flush()


class CustodyLanguageServer(LanguageServer):
    """One process for all files of an editor. Questions about lines run on one thread, the gate on another."""

    def __init__(self, make: MakeWorkspace) -> None:
        super().__init__("custody", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental)
        self.settings = EditorSettings()
        self.lines = ThreadPoolExecutor(1, thread_name_prefix="lines")
        self.repositories = OpenRepositories(make)
        self.marked: dict[Path, set[str]] = {}
        self.is_markdown = False
        self.loop: asyncio.AbstractEventLoop | None = None
        self.watch = GateWatch(make, self.publish_later, self.log_later, GATE_PAUSE_SECONDS)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log a message that could not be handled; it does not interrupt the user."""
        self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Warning, f"custody: {str(error)[:500]}"))

    def configure(self, options: object) -> None:
        """Take the user's settings from ``{"custody": {...}}`` or the settings alone; invalid ones change nothing."""
        section = options.get("custody", options) if isinstance(options, dict) else {}
        try:
            self.settings = msgspec.convert(section, EditorSettings, strict=False)
        except msgspec.ValidationError as error:
            self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Warning, f"custody: settings: {error}"))
        self.watch.set_pause(self.settings.pause)

    async def ask(self, uri: str, question: Callable[[EditorFile, bytes | None], T]) -> T | None:
        """Return an answer about a file, from the thread for lines; None if it has none."""
        name = to_fs_path(uri)
        if name is None or not uri.startswith("file:"):
            return None
        document = self.workspace.text_documents.get(uri)
        text = None if document is None else document.source

        def answer() -> T | None:
            try:
                file = self.repositories.find_file(Path(name), text)
                return question(file, self.repositories.read_buffer(file))
            except CustodyError as error:
                self.log_later(f"{Path(name).name}: {error.message}")
                return None

        return await asyncio.get_running_loop().run_in_executor(self.lines, answer)

    def show_hover(self, line: int, file: EditorFile, content: bytes | None) -> str:
        """Return the text of a hover."""
        warm = self.repositories.open_workspace(file.root)
        report = warm.explain_line(file.name, line, content)
        session = find_session(report)
        ids = warm.ask(lambda workspace: shorten_session_ids(workspace, [] if session is None else [session]))
        now_ns = warm.ask(lambda workspace: workspace.now_ns())
        return render_hover(report, ids, now_ns, is_markdown=self.is_markdown)

    def list_blocks(self, mode: MarkMode, file: EditorFile, content: bytes | None) -> list[AuthorBlock]:
        """Return the blocks of a file to mark."""
        report = self.repositories.open_workspace(file.root).blame(file.name, content).report
        return list(list_author_blocks(report.attributions, mode))

    def list_targets(self, line: int, file: EditorFile, content: bytes | None) -> list[tuple[str, str]]:
        """Return what can be opened about a line, each with its title: its session and the review of its commit."""
        warm = self.repositories.open_workspace(file.root)
        report = warm.explain_line(file.name, line, content)
        session, commit = find_session(report), find_commit(report)
        targets = []
        if session is not None:
            short = warm.ask(lambda workspace: shorten_session_ids(workspace, [session]))[session]
            targets.append((f"custody: open session {short}", short))
        if commit is not None:
            targets.append((f"custody: open the review of {commit[:SHA_DIGITS]}", f"/change?name={commit}"))
        return targets

    async def check(self, uri: str, *, is_stale: bool = False) -> None:
        """Have the gate check the work tree of a file, or drop that check while the file is edited."""
        name = to_fs_path(uri)
        if not self.settings.diagnostics or name is None or not uri.startswith("file:"):
            return

        def find() -> None:
            try:
                root = self.repositories.find_file(Path(name), None).root
            except CustodyError:
                return  # a file outside of a repository has no gate
            (self.watch.cancel if is_stale else self.watch.request)(root)

        await asyncio.get_running_loop().run_in_executor(self.lines, find)

    def publish_later(self, root: Path, findings: list[GateFinding]) -> None:
        """Show findings, from the thread of the gate."""
        self._call_later(partial(self._publish, root, findings))

    def log_later(self, sentence: str) -> None:
        """Write a sentence to the log of the editor, from any thread."""
        params = lsp.LogMessageParams(lsp.MessageType.Info, f"custody: {sentence}")
        self._call_later(partial(self.window_log_message, params))

    def close(self) -> None:
        """Close the repositories in their thread, and stop."""
        self.watch.close()
        self.lines.submit(self.repositories.close)
        self.lines.shutdown(wait=True)

    def _call_later(self, call: Callable[[], object]) -> None:
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(call)

    def _publish(self, root: Path, findings: list[GateFinding]) -> None:
        by_uri: dict[str, list[lsp.Diagnostic]] = {}
        for finding in findings:
            uri = from_fs_path(str(finding.path))
            if uri is not None:
                by_uri.setdefault(uri, []).append(_make_diagnostic(finding))
        for uri in sorted(self.marked.get(root, set()) | set(by_uri)):
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, by_uri.get(uri, [])))
        self.marked[root] = set(by_uri)


def _make_diagnostic(finding: GateFinding) -> lsp.Diagnostic:
    place = lsp.Range(lsp.Position(finding.start_line - 1, 0), lsp.Position(finding.end_line, 0))
    severity = _SEVERITIES.get(finding.level, lsp.DiagnosticSeverity.Warning)
    return lsp.Diagnostic(place, finding.text, severity=severity, code=finding.code, source="custody")


def make_language_server(make: MakeWorkspace) -> CustodyLanguageServer:
    """Return a server with its features; ``make`` opens the workspace of a work tree."""
    server = CustodyLanguageServer(make)
    for feature, handler in _HANDLERS.items():
        server.feature(feature)(partial_handler(handler, server))
    for name in ("custody.why", "custody.open"):
        server.command(name)(partial_handler(_COMMANDS[name], server))
    server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(["source"]))(
        partial_handler(list_actions, server)
    )
    return server


def partial_handler(handler: Callable[..., Awaitable[T]], server: CustodyLanguageServer) -> Callable[..., Awaitable[T]]:
    """Return a handler that knows its server."""

    async def handle(*params: Any) -> T:
        server.loop = asyncio.get_running_loop()
        return await handler(server, *params)

    return handle


async def initialize(server: CustodyLanguageServer, params: lsp.InitializeParams) -> None:
    """Take what the client can show, and the user's settings."""
    text = params.capabilities.text_document
    formats = [] if text is None or text.hover is None else text.hover.content_format or []
    server.is_markdown = bool(formats) and formats[0] == lsp.MarkupKind.Markdown
    server.configure(params.initialization_options)


async def change_settings(server: CustodyLanguageServer, params: lsp.DidChangeConfigurationParams) -> None:
    """Take the user's new settings."""
    server.configure(params.settings)


async def hover(server: CustodyLanguageServer, params: lsp.HoverParams) -> lsp.Hover | None:
    """Return why a line is there."""
    text = await server.ask(params.text_document.uri, partial(server.show_hover, params.position.line + 1))
    kind = lsp.MarkupKind.Markdown if server.is_markdown else lsp.MarkupKind.PlainText
    return None if text is None else lsp.Hover(lsp.MarkupContent(kind, text))


async def list_lenses(server: CustodyLanguageServer, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    """Return a lens above each marked block; running it shows why its first line is there."""
    if server.settings.lens == "off":
        return []
    return await _make_lenses(server, params.text_document.uri, server.settings.lens)


async def list_blocks(server: CustodyLanguageServer, params: Any) -> list[lsp.CodeLens]:
    """Return every block of a file, whatever lenses are shown: for the gutter of VS Code."""
    uri = getattr(getattr(params, "textDocument", None), "uri", None)
    return [] if not isinstance(uri, str) else await _make_lenses(server, uri, "on")


async def _make_lenses(server: CustodyLanguageServer, uri: str, mode: MarkMode) -> list[lsp.CodeLens]:
    blocks = await server.ask(uri, partial(server.list_blocks, mode))
    return [
        lsp.CodeLens(
            _empty_range(block.lines.first, 0),
            lsp.Command(title=block.title, command="custody.why", arguments=[uri, block.lines.first]),
        )
        for block in blocks or ()
    ]


async def list_hints(server: CustodyLanguageServer, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    """Return a hint at the end of the first line of each marked block in the range."""
    if server.settings.hints == "off":
        return []
    uri = params.text_document.uri
    blocks = await server.ask(uri, partial(server.list_blocks, server.settings.hints))
    document = server.workspace.get_text_document(uri) if blocks and uri in server.workspace.text_documents else None
    lines = [] if document is None else document.source.split("\n")
    shown = [
        block
        for block in blocks or ()
        if params.range.start.line < block.lines.first <= min(params.range.end.line + 1, len(lines))
    ]
    return [
        lsp.InlayHint(_line_end(server, lines, block.lines.first), block.title, padding_left=True)
        for block in shown[:HINTS_MAX]
    ]


def _line_end(server: CustodyLanguageServer, lines: list[str], line: int) -> lsp.Position:
    text = lines[line - 1].rstrip("\r")
    return lsp.Position(line - 1, server.workspace.position_codec.client_num_units(text))


def _empty_range(line: int, character: int) -> lsp.Range:
    position = lsp.Position(line - 1, character)
    return lsp.Range(position, position)


async def list_actions(server: CustodyLanguageServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Return the actions on a line: open its session, the review of its commit, and its page."""
    line = params.range.start.line + 1
    uri = params.text_document.uri
    name = await server.ask(uri, lambda file, _: str(Path(file.name).relative_to(file.root)))
    if name is None:
        return []
    targets = await server.ask(uri, partial(server.list_targets, line)) or []
    targets.append((f"custody: open line {line} in the pages", f"{name}:{line}"))
    return [
        lsp.CodeAction(
            title=title,
            kind=lsp.CodeActionKind.Source,
            command=lsp.Command(title=title, command="custody.open", arguments=[target]),
        )
        for title, target in targets
    ]


async def run_why(server: CustodyLanguageServer, uri: object = "", line: object = 0, *_: object) -> None:
    """Show why a line is there as a message, for editors without a hover at a lens."""
    if isinstance(line, int) and isinstance(uri, str):
        text = await server.ask(uri, partial(server.show_hover, line))
        if text is not None:
            server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, text))


async def run_open(server: CustodyLanguageServer, target: object = "", *_: object) -> None:
    """Show the command that opens a session or a line in the pages; editors may run it themselves."""
    text = f"run: custody serve --open '{str(target)[:500]}'"
    server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, text))


async def check_file(
    server: CustodyLanguageServer, params: lsp.DidOpenTextDocumentParams | lsp.DidSaveTextDocumentParams
) -> None:
    """Check the work tree of a file that was opened or saved."""
    await server.check(params.text_document.uri)


async def drop_check(server: CustodyLanguageServer, params: lsp.DidChangeTextDocumentParams) -> None:
    """Drop the check of a work tree with a file that is being edited."""
    await server.check(params.text_document.uri, is_stale=True)


async def shutdown(server: CustodyLanguageServer, _: object = None) -> None:
    """Stop checking; the process ends when the client says so."""
    server.watch.close()


_HANDLERS: dict[str, Callable[..., Awaitable[Any]]] = {
    lsp.INITIALIZE: initialize,
    lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: change_settings,
    lsp.TEXT_DOCUMENT_HOVER: hover,
    lsp.TEXT_DOCUMENT_CODE_LENS: list_lenses,
    lsp.TEXT_DOCUMENT_INLAY_HINT: list_hints,
    lsp.TEXT_DOCUMENT_DID_OPEN: check_file,
    lsp.TEXT_DOCUMENT_DID_SAVE: check_file,
    lsp.TEXT_DOCUMENT_DID_CHANGE: drop_check,
    lsp.SHUTDOWN: shutdown,
    "custody/blocks": list_blocks,
}
_COMMANDS: dict[str, Callable[..., Awaitable[Any]]] = {"custody.why": run_why, "custody.open": run_open}


def serve_editor(make: MakeWorkspace, stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Serve one editor on two streams until it ends."""
    logging.disable(logging.CRITICAL)  # pygls logs whole messages, and an editor shows what stderr gets
    server = make_language_server(make)
    try:
        server.start_io(cast(BinaryIO, LimitedInput(stdin)), cast(BinaryIO, OpenOutput(stdout)))
    finally:
        server.close()
