"""The reader of Aider's chat histories, and where they are."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from custody.capture.agents.aider.tool_calls import find_fence_end, list_answer_edits
from custody.capture.agents.aider.views import EDIT, PROMPT, views_from_transcript_event
from custody.capture.line_reader import LINE_BYTES_MAX, FileLine, list_transcript_files, locate_user_home
from custody.capture.patch import REPLACE_LINE, SEARCH_LINE
from custody.capture.transcripts import (
    ChangedFile,
    LineProblem,
    LineResult,
    OpenedSessions,
    SkippedLine,
    Starts,
    SubagentLaunch,
    TranscriptLine,
    TranscriptReader,
    transcript_id_from_digest,
)
from custody.core.ids import AgentName
from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import Json
from custody.core.wire.time import format_timestamp

# Aider adds to one Markdown file in the repository (``aider/io.py`` at 0.86, May 2026; tested with public histories of
# 2024 to 2026). Each start is a session, with the local time of the machine and without a zone: it is read in this
# machine's zone. Nothing else has a time. "#### " begins a typed line, "> " a line of the program, and both end with
# two spaces; anything else is the answer. The lines of the program after an answer name the edited files and the
# commit. Answers are stored only as their edits.


AIDER = AgentName("aider")
HISTORY = ".aider.chat.history.md"
NS_PER_SECOND = 1_000_000_000
ANSWER_BYTES_MAX = LINE_BYTES_MAX
COMMANDS_WITH_PROMPT = ("/ask", "/code", "/architect")
"""Commands with a prompt behind them; other commands are for the program."""
LINE_END, BLANK = "  ", "<blank>"

_BEGUN = lazy_pattern(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_MODEL = lazy_pattern(r"> (?:Main model|Model): (\S{1,200}) with .*")
_APPLIED = lazy_pattern(r"> Applied edit to (.+?)\s*")
_COMMIT = lazy_pattern(r"> Commit ([0-9a-f]{7,40}) .*")
_ASKED = lazy_pattern(r".*\? \(Y\)es/\(N\)o")
"""A question of the program with a person's answer, which stands where prompts do."""
_ANSWERED = lazy_pattern(r"> (?:Tokens: .* sent, .*|\d+ prompt tokens, .*)")


def is_aider_opening(data: bytes) -> bool:
    """Return whether a line begins a session in a history."""
    return (
        data.startswith(b"# aider chat started at ") and _BEGUN.fullmatch(data.decode("ascii", "replace")) is not None
    )


def find_project_histories(_home: Path, trees: Sequence[str]) -> list[Path]:
    """Return the histories in these work trees; a link is not followed."""
    files = [Path(tree) / HISTORY for tree in trees]
    return [file for file in files if file.is_file() and not file.is_symlink()]


def list_history_files(place: Path) -> list[Path]:
    """Return the histories at or below ``place``, last written last."""
    return list_transcript_files(place, HISTORY)


class Turn(Struct):
    """What follows a prompt: the lines of an answer, and what the program did with it."""

    line: int
    answer: list[str] = field(default_factory=list)
    size: int = 0
    applied: list[str] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    is_answered: bool = False


class HistoryState:
    """State of reading one history."""

    def __init__(self, file: Path) -> None:
        self.folder = str(file.parent.absolute())
        self.session: str | None = None
        self.at = ""
        self.model: str | None = None
        self.opened = OpenedSessions()
        self.prompt: list[str] = []
        self.prompt_line = 0
        self.turn = Turn(0)
        self.fence: str | None = None
        self.is_in_block = False
        self.count = 0

    def read(self, lines: Iterable[FileLine]) -> Iterator[LineResult]:
        """Yield the records of the history."""
        for line in lines:
            if line.size > LINE_BYTES_MAX:
                yield LineProblem(line.number, f"a line of {line.size:,} bytes is over the limit of {LINE_BYTES_MAX:,}")
                continue
            yield from self._line(line.number, line.data.decode("utf-8", "replace").removesuffix("\r"))
        yield from self._end_turn()

    def _line(self, number: int, text: str) -> Iterator[LineResult]:
        begun = _BEGUN.fullmatch(text)
        if begun is not None:
            yield from self._end_turn()
            yield from self._begin(number, begun[1])
        elif self.session is None:
            if text.strip():
                yield SkippedLine("(no session)", False)
        elif (self.is_in_block or self.fence is not None) and not _ANSWERED.fullmatch(text):
            yield from self._add_answer(number, text)
            self.is_in_block = not REPLACE_LINE.fullmatch(text) if self.is_in_block else self._begins_block(text)
            self.fence = None if text.rstrip() == self.fence else self.fence
        elif text.startswith("#### ") and text.endswith(LINE_END):
            if not self.prompt:
                yield from self._end_turn()
                self.prompt_line = number
            self.prompt.append(text[5:].rstrip())
        elif text.startswith("> ") and text.endswith(LINE_END):
            yield from self._end_prompt()
            self._read_notice(text)
        else:
            yield from self._end_prompt()
            yield from self._add_answer(number, text)
            self.fence, self.is_in_block = find_fence_end(text), self._begins_block(text)

    @staticmethod
    def _begins_block(text: str) -> bool:
        return SEARCH_LINE.fullmatch(text) is not None

    def _begin(self, number: int, local: str) -> Iterator[LineResult]:
        self.model, self.count = None, 0
        try:
            began = datetime.strptime(local, "%Y-%m-%d %H:%M:%S").astimezone(UTC)
            self.at = format_timestamp(int(began.timestamp()) * NS_PER_SECOND)
        except (ValueError, OverflowError, OSError):
            self.session = None
            yield LineProblem(number, f"'{local}' is not a time")
            return
        self.session = f"aider-{local.translate({ord(' '): 'T', ord(':'): None})}"
        yield SkippedLine("session", True)

    # --- what the program says ----------------------------------------------------------------------------------------

    def _read_notice(self, text: str) -> None:
        model, applied, commit = _MODEL.fullmatch(text), _APPLIED.fullmatch(text), _COMMIT.fullmatch(text)
        if model is not None:
            self.model = model[1]
        elif applied is not None:
            self.turn.applied.append(applied[1])
        elif commit is not None and self.turn.applied:
            # A commit before the edits has a person's changes.
            self.turn.commits.append(commit[1])
        if self.turn.answer:
            self.turn.is_answered, self.fence, self.is_in_block = True, None, False

    # --- answers ------------------------------------------------------------------------------------------------------

    def _add_answer(self, number: int, text: str) -> Iterator[LineResult]:
        if self.turn.is_answered and self.turn.applied and text.strip():
            # Aider asked the model again, for example about an error.
            yield from self._end_turn()
        if not self.turn.answer:
            self.turn.line = number
        self.turn.size += len(text)
        if self.turn.size <= ANSWER_BYTES_MAX:
            self.turn.answer.append(text)

    def _end_prompt(self) -> Iterator[TranscriptLine]:
        text, self.prompt = "\n".join(line for line in self.prompt if line != BLANK).strip(), []
        command, _, rest = text.partition(" ")
        if command in COMMANDS_WITH_PROMPT:
            text = rest.strip()
        if text and not text.startswith(("/", "!")) and not _ASKED.match(text):
            yield self._to_record(self.prompt_line, {"type": PROMPT, "text": text}, text)

    def _end_turn(self) -> Iterator[LineResult]:
        yield from self._end_prompt()
        turn, self.turn, self.fence, self.is_in_block = self.turn, Turn(0), None, False
        if turn.size > ANSWER_BYTES_MAX:
            yield LineProblem(turn.line, f"an answer may have at most {ANSWER_BYTES_MAX:,} characters")
        elif turn.applied and self.session is not None:
            edits = list_answer_edits(turn.answer, turn.applied)
            record = self._to_record(turn.line, {"type": EDIT, "edits": list(edits)}, "\n".join(turn.answer).strip())
            names = dict.fromkeys(str(edit["path"]) for edit in edits)
            yield replace(
                record,
                calls=[{"id": record.id, "name": EDIT}],
                edits=tuple(ChangedFile(name, self.folder) for name in names),
                commits=tuple(dict.fromkeys(turn.commits)),
                begun=1,
            )

    def _to_record(self, number: int, payload: dict[str, Json], text: str) -> TranscriptLine:
        session = self.session or ""
        self.count += 1
        opens = self.opened.opens(session, self.model)
        if self.model is not None:
            payload["model"] = self.model
        name = transcript_id_from_digest(f"{session}\0{self.count}\0{text}".encode("utf-8", "surrogatepass"))
        return TranscriptLine(
            line=number, id=name, session=session, at=self.at, payload=payload, cwd=self.folder, opens=opens
        )


def read_history(file: Path, lines: Iterable[FileLine], _starts: Starts) -> Iterator[LineResult]:
    """Yield the records of a history."""
    yield from HistoryState(file).read(lines)


def find_subagent_launches(_file: Path, _lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
    """Yield nothing: Aider has no subagents."""
    yield from ()


def keep_event(event: dict[str, Json]) -> dict[str, Json]:
    """Return the event as it is: it has no outputs."""
    return event


def make_aider_reader(trees: Sequence[str]) -> TranscriptReader:
    """Return the reader whose place is the work tree, because Aider stores nothing in the user's home."""

    def locate_tree(environment: Mapping[str, str]) -> Path:
        return Path(trees[0]) if trees else locate_user_home(environment)

    return replace(READER, home=locate_tree)


READER = TranscriptReader(
    agent=AIDER,
    home=locate_user_home,
    of_trees=find_project_histories,
    files=list_history_files,
    knows=is_aider_opening,
    starts=find_subagent_launches,
    read=read_history,
    trimmed=keep_event,
    views=views_from_transcript_event,
    in_trees=make_aider_reader,
)
