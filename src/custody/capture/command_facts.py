"""What a shell command did, by its own text and its output: files written, commits made, pull requests opened."""

import posixpath
import re

from msgspec import Struct
from msgspec.structs import replace

from custody.capture.shell import Write, commands, writes
from custody.capture.tool_use import ToolUse
from custody.capture.typed_field import Fields, clean, get_string
from custody.core.ids import AgentName, SessionId
from custody.core.views import PullRequestFact

NUMBER_MAX = 2**53
NOT_WRITTEN = ("No such file or directory", "Permission denied", "Is a directory", "Read-only file system")
"""What a failed command prints that may not have written its files."""

_MADE = re.compile(r"^\[[^\]\n]* ([0-9a-f]{7,64})\] ", re.MULTILINE)
_COMMITTING = frozenset(("commit", "cherry-pick", "revert"))
_OPENED = re.compile(r"https?://[^/\s]+/[^/\s]+/[^/\s]+/pull/(\d{1,15})\b")
_PULL_URL = re.compile(r"https?://[^/\s]+/([^/\s]+/[^/\s]+)/pull/\d+")


class ToolOutput(Struct, frozen=True):
    """What a tool printed, its exit code if that was reported, and whether it was still running.

    ``refused``: the call was not done, or it is unknown how much of it; the words are then the agent program's.
    """

    words: str = ""
    code: int | None = None
    running: bool = False
    refused: bool = False

    @property
    def failed(self) -> bool:
        """Whether it certainly went wrong."""
        return self.refused or self.code not in (None, 0)


def find_written_files(command: str | None, answer: ToolOutput, folder: str = "") -> tuple[Write, ...]:
    """What a shell command certainly wrote, by its own text; ``folder`` is where the call asked to run it."""
    if command is None or answer.running or answer.refused:
        return ()
    if answer.failed and any(mark in answer.words for mark in NOT_WRITTEN):
        return ()
    sure = [write for write in writes(command) if write.sure or not answer.failed]
    return tuple(replace(write, path=posixpath.join(folder, write.path)) for write in sure)


def commits_in(command: str | None, answer: ToolOutput) -> list[str]:
    """The commits that a command made, as git's own words name them: abbreviated, as a rule."""
    if command is None or "git" not in command or not any(word in command for word in _COMMITTING):
        return []
    steps = commands(command)
    made = steps is None or any(step.words[:1] == ("git",) and _COMMITTING & set(step.words) for step in steps)
    return list(dict.fromkeys(_MADE.findall(answer.words))) if made else []


def add_git_facts(use: ToolUse, command: str | None, answer: ToolOutput) -> ToolUse:
    """The call with the commits that its command made and the pull request that it opened, by what it printed."""
    opened = _OPENED.search(answer.words) if command is not None and "gh pr create" in command else None
    request = {"number": int(opened[1]), "url": opened[0], "action": "created"} if opened and not answer.failed else {}
    return replace(
        use,
        commits=tuple(commits_in(command, answer)),
        pull_request=pull_request(use.agent, use.session, use.at_ns, request),
    )


def pull_request(agent: AgentName, session: SessionId, at_ns: int, request: Fields) -> PullRequestFact | None:
    """That a session spoke of a pull request, by its number, URL, repository and action; None without a number."""
    number, url = request.get("number"), get_string(request.get("url"))
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= NUMBER_MAX:
        return None
    match = None if url is None else _PULL_URL.match(url)
    repository = get_string(request.get("repository")) or (match[1] if match else None)
    return PullRequestFact(
        agent,
        session,
        number,
        at_ns,
        repository=None if repository is None else clean(repository),
        url=None if url is None else clean(url),
        action=clean(get_string(request.get("action")) or "") or None,
    )
