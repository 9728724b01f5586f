"""How many added lines of real commits are explained by real transcripts, and whether the answers are true.

Answers come from custody. Whether they are true is decided by another reading of the same transcripts, which shares no
code with custody's: it only collects, for each call, the files that it edited and the lines that it wrote. It reads
Claude Code's transcripts and git-ai's notes with conversations.

A line counts as explained if an agent's call is its answer; a commit's own trailer does not explain it. The call must
have edited that file, or the line must have left another file in the same commit, or the call's session must have
edited both, or a shell command must have moved the call's file here, or git's own search finds that the line was moved
from a file that the call edited. The reason for an unexplained line is false if some call before the commit wrote
exactly this line into this file, and the line is not boilerplate. Reasons that admit such a call have their own tests:
a line at "another place" must not be between the same two lines in the call's text, a line whose "layout" changed must
have all its words from the text that the call replaced, one that was "gone" must be missing from some later text, and
one that "says too little" must be short.
"""

import argparse
import hashlib
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from bench.attribution.telling import ran
from bench.attribution.world import surroundings
from bench.bars import BenchError
from bench.progress import Progress, Tell
from custody.attribution.app.answers import CAME_BACK, LAID_OUT, OTHER_PLACE, SAYS_LITTLE
from custody.attribution.app.blame import blame
from custody.attribution.wire import Attribution
from custody.core.errors import CustodyError
from custody.core.paths import Lines
from custody.workspace.workspace import Workspace

COMMITS = 32
HOURS_BEFORE = 24 * 7
"""A commit is measured if a call edited one of its files this long before it; later calls cannot have made it."""
LINES_MAX = 5_000
"""A commit with more added lines is data or vendored code, and is not measured."""
EDITS = {"Edit": "new_string", "Write": "content", "NotebookEdit": "new_source"}
WORDS_MIN, FILES_MAX = 3, 2
"""A line with fewer words, or in calls of more files, is boilerplate: a person may have typed it too."""
WORDS_MOVED_MIN = 0.6
"""A line that moved and changed has more than this share of its words from the old line."""
CHANGES_MAX = 8
"""Maximum commits that a changed line is followed through."""
LITTLE_WORDS_MAX = 5
"""Maximum words of a line that says too little."""
SHOWN = 20
WORD = re.compile(r"\w+")
SHELL_END = re.compile(r"&&|\|\||[;\n|]")
HUNK = re.compile(rb"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
COMMIT_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
NAMED, NAMED_ONLY = "named_by_commit", "named only by the commit"


@dataclass(slots=True)
class Call:
    """What one call did, as the transcript has it: the files that it named and the lines that it wrote there."""

    at: float
    session: str = ""
    wrote: dict[str, set[str]] = field(default_factory=dict)
    before: set[str] = field(default_factory=set)
    """Lines that were there before the call: it repeated them and did not write them."""
    whole: set[str] | None = None
    """The lines of the file before the call, if the transcript has them."""
    pieces: list[tuple[str, list[str]]] = field(default_factory=list)
    """Each text that it replaced, and the lines, without empty ones, of the text that replaced it."""


@dataclass(slots=True)
class Reading:
    """All calls of the transcripts, and for each line of text the calls that wrote it."""

    calls: dict[str, Call] = field(default_factory=dict)
    by_line: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    files: int = 0
    failed: set[str] = field(default_factory=set)
    """Calls that the transcripts report as failed: they wrote nothing."""
    moves: list[tuple[str, str]] = field(default_factory=list)
    """The old and new path of each file that a shell command moved or copied."""

    def add(self, name: str, at: float, path: str, text: str, *, before: str = "", session: str = "") -> None:
        """Add what a call wrote into a file that had the lines ``before``."""
        call = self.calls.setdefault(name, Call(at, session))
        call.before |= lines_of(before)
        call.pieces.append((before, [line.strip() for line in text.splitlines() if line.strip()]))
        # A call that only deletes has no lines, but it edited the file too.
        lines = call.wrote.setdefault(path, set())
        for line in lines_of(text):
            lines.add(line)
            self.by_line[line].add(name)

    def edited(self, name: str, path: str) -> bool:
        """Return whether a call named this file, as far as the end of its path shows."""
        call = self.calls.get(name)
        return call is not None and any(is_same_file(other, path) for other in call.wrote)

    def session_edited(self, name: str, path: str) -> bool:
        """Return whether any call of the call's session named this file."""
        session = self.calls[name].session
        return bool(session) and any(
            call.session == session and any(is_same_file(other, path) for other in call.wrote)
            for call in self.calls.values()
        )

    def shell_moved(self, name: str, path: str) -> bool:
        """Return whether a shell command moved a file that the call edited to this path."""
        return any(
            is_same_file(new, path) and any(is_same_file(written, old) for written in self.calls[name].wrote)
            for old, new in self.moves
        )

    def writers(self, line: str, path: str, at: float) -> list[Call]:
        """Return the calls before a time that wrote this line into this file."""
        calls = [self.calls[name] for name in self.by_line.get(line, ()) if name not in self.failed]
        return [
            call
            for call in calls
            if call.at <= at
            and not any(is_same_text(line, old) for old in call.before)
            and any(is_same_file(other, path) and line in lines for other, lines in call.wrote.items())
        ]

    def was_gone(self, line: str, path: str, since: float) -> bool:
        """Return whether a file lacked a line at some call after a time, or the call removed it."""
        later = [
            call for call in self.calls.values() if call.at > since and any(is_same_file(p, path) for p in call.wrote)
        ]
        return any(
            (call.whole is not None and line not in call.whole)
            or any(line in lines_of(before) and line not in lines for before, lines in call.pieces)
            for call in later
        )

    def is_distinctive(self, line: str) -> bool:
        """Return whether a line says enough to tell who wrote it: several words, written into few files."""
        files = {path.rpartition("/")[2] for name in self.by_line.get(line, ()) for path in self.calls[name].wrote}
        return len(WORD.findall(line)) >= WORDS_MIN and len(files) <= FILES_MAX

    def touched(self, paths: Iterable[str], at: float) -> bool:
        """Return whether a call edited one of these files within the time before a commit."""
        names = {path.rpartition("/")[2] for path in paths}
        since = at - HOURS_BEFORE * 3600
        recent = (call for call in self.calls.values() if since <= call.at <= at)
        return any(other.rpartition("/")[2] in names for call in recent for other in call.wrote)


def list_moves(command: str) -> Iterator[tuple[str, str]]:
    """Yield the old and new path of each file that a shell command moves or copies.

    >>> list(list_moves("mkdir -p done && git mv todo/a.md todo/b.md done/; cp x y"))
    [('todo/a.md', 'done/a.md'), ('todo/b.md', 'done/b.md'), ('x', 'y')]
    """
    for part in SHELL_END.split(command):
        words = [word.strip("\"'") for word in part.split() if not word.startswith("-")]
        words = words[1:] if words[:1] == ["git"] else words
        if len(words) < 3 or words[0] not in ("mv", "cp"):
            continue
        *old_paths, new = words[1:]
        is_folder = new.endswith("/") or len(old_paths) > 1
        for old in old_paths:
            yield old, f"{new.rstrip('/')}/{old.rpartition('/')[2]}" if is_folder else new


def lines_of(text: str) -> set[str]:
    """Return the lines of a text without white space around them, and without empty ones."""
    return {line.strip() for line in text.splitlines()} - {""}


def is_same_text(line: str, other: str) -> bool:
    """Return whether two lines differ in white space only: that changes no author."""
    return line == other or "".join(line.split()) == "".join(other.split())


def is_same_file(written: str, path: str) -> bool:
    """Return whether a path as an agent wrote it may be this file of the repository.

    >>> is_same_file("/home/ana/project/src/a.py", "src/a.py"), is_same_file("/w/other_a.py", "a.py")
    (True, False)
    """
    return written == path or written.endswith("/" + path)


def read_transcripts(folder: Path) -> Reading:
    """Return what the calls in a folder of transcripts or of git-ai's notes wrote."""
    reading = Reading()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        if file.suffix == ".jsonl":
            reading.files += 1
            read_claude(file, reading)
        elif COMMIT_NAME.fullmatch(file.name):
            reading.files += 1
            read_note(file, reading)
    return reading


def read_claude(file: Path, reading: Reading) -> None:
    """Add the calls of one transcript of Claude Code, also those of subagents inside their parent's."""
    for raw in file.read_bytes().splitlines():
        if b'"tool_use"' not in raw and b'"tool_result"' not in raw:
            continue
        try:
            line = json.loads(raw)
        except ValueError:
            continue  # cut off
        inner = (line.get("data") or {}).get("message") if line.get("type") == "progress" else line
        content = ((inner or {}).get("message") or {}).get("content")
        at = seconds_of((inner or {}).get("timestamp") or line.get("timestamp"))
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_use":
                add_use(reading, str(block.get("id")), at, block, str(line.get("sessionId")))
            elif isinstance(block, dict) and block.get("type") == "tool_result":
                add_result(reading, str(block.get("tool_use_id")), block, (inner or {}).get("toolUseResult"))


def add_result(reading: Reading, name: str, result: dict[str, Any], response: object) -> None:
    """Add whether a call failed, and the text before it."""
    if result.get("is_error") is True:
        reading.failed.add(name)
    original = response.get("originalFile") if isinstance(response, dict) else None
    if isinstance(original, str) and name in reading.calls:
        call = reading.calls[name]
        call.whole = lines_of(original)
        call.before |= call.whole
        call.pieces = [(before or original, lines) for before, lines in call.pieces]


def read_note(file: Path, reading: Reading) -> None:
    """Add the calls of the conversations in one note."""
    text = file.read_text("utf-8", "replace")
    if '"messages"' not in text:
        return
    try:
        prompts = json.loads(text.rpartition("\n---\n")[2]).get("prompts") or {}
    except ValueError:
        return  # not a note
    for prompt in prompts.values():
        session = str((prompt.get("agent_id") or {}).get("id"))
        for message in prompt.get("messages") or ():
            if message.get("type") == "tool_use":
                # Notes have no ids of calls: custody names a call by the digest of its message.
                data = json.dumps(message, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
                name = f"git-ai-{hashlib.sha256(data).hexdigest()[:32]}"
                add_use(reading, name, seconds_of(message.get("timestamp")), message, session)


def add_use(reading: Reading, name: str, at: float, use: dict[str, Any], session: str = "") -> None:
    """Add a call of an editing tool."""
    given = use.get("input")
    tool = use.get("name")
    if not isinstance(given, dict):
        return
    if tool == "Bash":
        reading.moves += list_moves(str(given.get("command") or ""))
    path = given.get("file_path") or given.get("notebook_path")
    if not isinstance(path, str):
        return
    if tool in EDITS:
        old = str(given.get("old_string") or "")
        reading.add(name, at, path, str(given.get(EDITS[tool]) or ""), before=old, session=session)
    elif tool == "MultiEdit":
        for edit in given.get("edits") or ():
            old = str(edit.get("old_string") or "")
            reading.add(name, at, path, str(edit.get("new_string") or ""), before=old, session=session)


def seconds_of(timestamp: object) -> float:
    """Return a time in seconds since the epoch; 0 without one."""
    try:
        return datetime.fromisoformat(str(timestamp)).timestamp()
    except ValueError:
        return 0.0


# --- commits ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RealCommit:
    """A commit with the lines that it added, by file, and the lines that it removed anywhere."""

    sha: str
    at: float
    added: dict[str, dict[int, str]]
    removed: dict[str, set[str]]


def read_commit(git: Sequence[str], sha: str, at: float, folder: Path, environment: dict[str, str]) -> RealCommit:
    """Return the added and removed lines of a commit; a file whose contents are missing has none."""
    added: dict[str, dict[int, str]] = defaultdict(dict)
    removed: dict[str, set[str]] = defaultdict(set)
    diff = ["diff-tree", "-p", "-U0", "-r", "--root", "--no-renames", "--no-color", "--no-ext-diff", sha]
    old = new = ""
    number = 0
    for line in ran([*git, *diff], folder, environment).split(b"\n"):
        if line.startswith(b"--- "):
            old = line[6:].decode("utf-8", "replace")
        elif line.startswith(b"+++ "):
            new = line[6:].decode("utf-8", "replace")
        elif match := HUNK.match(line):
            number = int(match[1])
        elif line.startswith(b"+"):
            added[new][number] = line[1:].decode("utf-8", "replace").strip()
            number += 1
        elif line.startswith(b"-"):
            removed[old].add(line[1:].decode("utf-8", "replace").strip())
    return RealCommit(sha, at, dict(added), dict(removed))


def choose_commits(repo: Path, reading: Reading, count: int, chance: random.Random, folder: Path) -> list[RealCommit]:
    """Return commits of HEAD's history with a file that a call had edited, without merges."""
    environment = surroundings(folder) | {"GIT_NO_LAZY_FETCH": "1"}
    git = ["git", "-C", str(repo)]
    rows = ran([*git, "log", "--no-merges", "--format=%H %at", "HEAD"], folder, environment).decode().split("\n")
    times = {sha: float(at) for sha, _, at in (row.partition(" ") for row in rows if row)}
    order = list(times)
    chance.shuffle(order)
    chosen: list[RealCommit] = []
    for sha in order:
        if len(chosen) == count:
            break
        try:
            commit = read_commit(git, sha, times[sha], folder, environment)
        except BenchError:
            continue  # a partial clone lacks its contents
        size = sum(map(len, commit.added.values()))
        if 0 < size <= LINES_MAX and reading.touched(commit.added, commit.at):
            chosen.append(commit)
    return chosen


# --- the measurement --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Figures:
    """The counts of all commits; ``examples`` are lines with a false answer."""

    commits: int = 0
    lines: int = 0
    explained: int = 0
    named: int = 0
    """Lines that only a commit's trailer or note names: not explained."""
    elsewhere: int = 0
    """Lines whose call edited another file."""
    unproven: int = 0
    """Those of them that left no other file, and whose session did not edit this one."""
    unread: int = 0
    """Lines whose call the other reading does not have: commands, and other agents' calls."""
    reasons: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The explained share of the lines; 1 without lines."""
        return self.explained / self.lines if self.lines else 1.0


@dataclass(frozen=True, slots=True)
class AddedLine:
    """A line that a commit added to a file; ``around`` are the lines above and below it.

    ``former_names`` returns the files that git finds the line in before; ``is_repeated`` if the file has it twice.
    """

    path: str
    text: str
    around: Sequence[str] = ()
    former_names: Callable[[], set[str]] = set
    is_repeated: bool = False


def judge_line(figures: Figures, commit: RealCommit, added: AddedLine, answer: Attribution, other: Reading) -> None:
    """Count one line, and check its answer against the other reading."""
    path, line = added.path, added.text
    figures.lines += 1
    place = f"{commit.sha[:12]} {path}: {line[:80]}"
    if answer.kind in ("agent", "mixed") and NAMED not in answer.signals:
        figures.explained += 1
        call = answer.tool_call_id
        if call is None or call not in other.calls:
            figures.unread += 1
        elif not other.edited(call, path):
            figures.elsewhere += 1
            has_left = any(line in lines for name, lines in commit.removed.items() if name != path)
            is_proven = has_left or other.session_edited(call, path) or other.shell_moved(call, path)
            if not is_proven and not has_moved(added, other.calls[call]):
                figures.unproven += 1
                figures.examples.append(f"{place} (call {call} edited another file)")
        return
    figures.named += NAMED in answer.signals
    why = next((signal.why for signal in answer.evidence if signal.name == NAMED), answer.reason or answer.kind)
    reason = NAMED_ONLY if NAMED in answer.signals else why
    figures.reasons[reason] += 1
    if added.is_repeated or not other.is_distinctive(line):
        return
    writers = other.writers(line, path, commit.at)
    if CAME_BACK in why and any(other.was_gone(line, path, call.at) for call in writers):
        return
    if writers and is_contradicted(why, line, added.around, writers):
        figures.false[reason] += 1
        figures.examples.append(f"{place} ({why})")


def has_moved(added: AddedLine, call: Call) -> bool:
    """Return whether git finds the line in a file that the call edited, before this commit or an earlier one."""
    return any(is_same_file(written, name) for name in added.former_names() for written in call.wrote)


def is_contradicted(why: str, line: str, around: Sequence[str], writers: Sequence[Call]) -> bool:
    """Return whether a reason is wrong about a line that these calls wrote."""
    pieces = [piece for call in writers for piece in call.pieces if line in piece[1]]
    if LAID_OUT in why:
        words = Counter(WORD.findall(line))
        return not any(words <= Counter(WORD.findall(before)) for before, _ in pieces)
    if OTHER_PLACE in why:
        return any(is_between(line, around, lines) for _, lines in pieces)
    return SAYS_LITTLE not in why or len(WORD.findall(line)) > LITTLE_WORDS_MAX


def is_between(line: str, around: Sequence[str], lines: Sequence[str]) -> bool:
    """Return whether a line is between the same two lines in another text.

    >>> is_between("b", ["a", "c"], ["a", "b", "c"]), is_between("b", ["a", "x"], ["a", "b", "c"])
    (True, False)
    """
    places = (at for at in range(1, len(lines) - 1) if lines[at] == line)
    return any([lines[at - 1], lines[at + 1]] == list(around) for at in places)


def measure_commits(repo: Path, commits: Sequence[RealCommit], other: Reading, tell: Tell) -> Figures:
    """Return the figures of these commits; ``repo`` has the evidence."""
    figures, workspace = Figures(), Workspace(repo)
    for commit in commits:
        figures.commits += 1
        tell(f"{figures.commits} of {len(commits)} commits")
        for path, lines in commit.added.items():
            try:
                report = blame(workspace, path, revision=commit.sha, line_ranges=list(ranges_of(lines))).report
            except CustodyError:
                continue  # a binary file, or one that the clone lacks
            answers = {
                number: answer
                for answer in report.attributions
                for number in range(answer.start_line, answer.end_line + 1)
            }
            whole = read_lines(workspace, commit.sha, path)
            counts = Counter(whole)
            for number, line in lines.items():
                if line and number in answers:
                    around = [find_line(whole[: number - 1][::-1]), find_line(whole[number:])]
                    former = partial(find_former_names, workspace, commit, path, number)
                    # Of two equal lines a call may have written only the other one, perhaps long before this commit.
                    added = AddedLine(path, line, around, former, is_repeated=counts[line] > 1)
                    judge_line(figures, commit, added, answers[number], other)
    return figures


def find_former_names(workspace: Workspace, commit: RealCommit, path: str, number: int) -> set[str]:
    """Return the files in which git finds a line, or a line with most of its words, before some commit changed it."""
    git = ["git", "-C", str(workspace.folder)]
    sha, names = commit.sha, {path}
    for _ in range(CHANGES_MAX):
        blamed = ["blame", "-w", "-M", "-C", "--porcelain", f"-L{number},{number}", sha, "--", path]
        shown = subprocess.run([*git, *blamed], capture_output=True, check=True).stdout.decode("utf-8", "replace")
        rows = shown.split("\n")
        source, path = rows[0].partition(" ")[0], next(row[9:] for row in rows if row.startswith("filename "))
        words = Counter(WORD.findall(rows[-2]))
        with tempfile.TemporaryDirectory() as temporary:
            removed = read_commit(git, source, 0, Path(temporary), surroundings(Path(temporary))).removed
        changed = {name for name, lines in removed.items() if any(is_mostly(words, line) for line in lines)}
        names |= changed | {path}
        # Git blames the commit that changed the line; what it was before that is in the commit's parent.
        if path not in changed:
            break
        sha = f"{source}^"
        before = enumerate(read_lines(workspace, sha, path), start=1)
        number = next(at for at, line in before if is_mostly(words, line))
    return names


def is_mostly(words: Counter[str], line: str) -> bool:
    """Return whether most of a line's words are those of another line.

    >>> is_mostly(Counter(["if", "ready", "now"]), "&& ready(now)")
    True
    """
    old = Counter(WORD.findall(line))
    return (words & old).total() > max(words.total(), old.total()) * WORDS_MOVED_MIN


def read_lines(workspace: Workspace, sha: str, path: str) -> list[str]:
    """Return the lines of a file of a commit, without white space around them."""
    shown = subprocess.run(
        ["git", "-C", str(workspace.folder), "show", f"{sha}:{path}"], capture_output=True, check=True
    ).stdout
    return [line.strip() for line in shown.decode("utf-8", "replace").split("\n")]


def find_line(lines: Iterable[str]) -> str:
    """Return the first line that is not empty."""
    return next((line for line in lines if line), "")


def ranges_of(numbers: Iterable[int]) -> Iterator[Lines]:
    """Yield adjacent numbers as line ranges."""
    first = last = 0
    for number in sorted(numbers):
        if first and number != last + 1:
            yield Lines(first, last)
            first = 0
        first, last = first or number, number
    if first:
        yield Lines(first, last)


def prepare(repo: Path, transcripts: Path, folder: Path) -> Path:
    """Return a clone of a repository with the evidence of the transcripts."""
    clone = folder / "clone"
    environment = surroundings(folder) | {"GIT_NO_LAZY_FETCH": "1"}
    ran(["git", "clone", "--quiet", "--no-checkout", "--shared", str(repo), str(clone)], folder, environment)
    has_notes = any(COMMIT_NAME.fullmatch(file.name) for file in transcripts.iterdir())
    what = ["git-ai", str(transcripts)] if has_notes else [str(transcripts)]
    done = subprocess.run(
        [sys.executable, "-m", "custody", "import", *what],
        cwd=clone,
        env=environment | python_path(),
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        raise BenchError(f"cannot import '{transcripts}'")
    return clone


def python_path() -> dict[str, str]:
    """Return the variable with which another process imports the same code."""
    return {"PYTHONPATH": ":".join(entry for entry in sys.path if entry)}


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Measure a repository with its transcripts; return 1 when nothing could be measured or an answer is false."""
    out, err = out or sys.stdout, err or sys.stderr
    args = arguments().parse_args(argv)
    seed = random.SystemRandom().randrange(1 << 32) if args.seed is None else args.seed
    with tempfile.TemporaryDirectory(prefix="custody-real-") as temporary, Progress(err) as tell:
        try:
            other = read_transcripts(args.transcripts)
            commits = choose_commits(args.repo, other, args.commits, random.Random(seed), Path(temporary))
            if not commits:
                raise BenchError("no commit has a file that a call in the transcripts edited")
            clone = prepare(args.repo.resolve(), args.transcripts.resolve(), Path(temporary))
            figures = measure_commits(clone, commits, other, tell)
        except (BenchError, OSError) as error:
            err.write(f"not measured: {error}\n")
            return 1
    out.write(rendered(figures, other, seed, as_json=args.json))
    return 1 if figures.unproven or figures.false else 0


def rendered(figures: Figures, other: Reading, seed: int, *, as_json: bool) -> str:
    """Return the figures for people or for programs."""
    if as_json:
        names = ("commits", "lines", "explained", "named", "elsewhere", "unproven", "unread")
        value = {name: getattr(figures, name) for name in names}
        more = {"reasons": dict(figures.reasons), "false": dict(figures.false), "examples": figures.examples}
        return json.dumps({"seed": seed, "files": other.files, **value, **more}, indent=2) + "\n"
    rows = [
        f"seed {seed}: {figures.commits} commits, {figures.lines:,} added lines, {len(other.calls):,} editing calls",
        f"explained            {figures.explained:,} ({figures.share:.1%})",
        f"  call of other file {figures.elsewhere:,}, without a proven move {figures.unproven:,}",
        f"  call not read      {figures.unread:,}",
        f"unexplained          {figures.lines - figures.explained:,}",
    ]
    for reason, count in figures.reasons.most_common():
        rows.append(f"  {count:,} {reason}: {figures.false[reason]:,} false")
    rows += [f"false: {example}" for example in figures.examples[:SHOWN]]
    return "\n".join(rows) + "\n"


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench real", description=__doc__)
    parser.add_argument("--repo", type=Path, required=True, metavar="GITDIR", help="a repository")
    parser.add_argument("--transcripts", type=Path, required=True, metavar="DIR", help="transcripts, or git-ai's notes")
    parser.add_argument("--commits", type=int, default=COMMITS, metavar="N", help="commits (default %(default)s)")
    parser.add_argument("--seed", type=int, help="seed of the choice of commits (default: a new one)")
    parser.add_argument("--json", action="store_true", help="as JSON")
    return parser
