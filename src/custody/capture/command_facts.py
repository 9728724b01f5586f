"""Effects of a shell command, by its own text and its output: files written, commits made, pull requests opened."""

import posixpath
import re

from msgspec.structs import replace

from custody.capture.shell import Write, parse_shell_commands, parse_shell_writes
from custody.capture.tool_use import ToolOutput, ToolUse
from custody.capture.typed_field import Fields, get_string, strip_unstorable_characters
from custody.core.ids import AgentName, SessionId
from custody.core.views import PullRequestFact

NUMBER_MAX = 2**53
NOT_WRITTEN = ("No such file or directory", "Permission denied", "Is a directory", "Read-only file system")
"""Messages of a failed command that may not have written its files."""

_COMMITTED = re.compile(r"^\[[^\]\n]* ([0-9a-f]{7,64})\] ", re.MULTILINE)
_COMMITTING = frozenset(("commit", "cherry-pick", "revert"))
_OPENED = re.compile(r"https?://[^/\s]+/[^/\s]+/[^/\s]+/pull/(\d{1,15})\b")
_PULL_URL = re.compile(r"https?://[^/\s]+/([^/\s]+/[^/\s]+)/pull/\d+")


def find_written_files(command: str | None, answer: ToolOutput, folder: str = "") -> tuple[Write, ...]:
    """Return the files that a shell command certainly wrote, by its own text; ``folder`` is where it ran."""
    if command is None or answer.running or answer.refused:
        return ()
    if answer.failed and any(mark in answer.text for mark in NOT_WRITTEN):
        return ()
    sure = [write for write in parse_shell_writes(command) if write.sure or not answer.failed]
    return tuple(replace(write, path=posixpath.join(folder, write.path)) for write in sure)


def find_printed_commits(command: str | None, answer: ToolOutput) -> list[str]:
    """Return the commits that a command made, as git printed them, usually abbreviated."""
    if command is None or "git" not in command or not any(word in command for word in _COMMITTING):
        return []
    steps = parse_shell_commands(command)
    commits = steps is None or any(step.words[:1] == ("git",) and _COMMITTING & set(step.words) for step in steps)
    return list(dict.fromkeys(_COMMITTED.findall(answer.text))) if commits else []


def add_git_facts(use: ToolUse, command: str | None) -> ToolUse:
    """Return the call with the commits that its command made and the pull request that it opened, by its output."""
    answer = use.output
    opened = _OPENED.search(answer.text) if command is not None and "gh pr create" in command else None
    request = {"number": int(opened[1]), "url": opened[0], "action": "created"} if opened and not answer.failed else {}
    return replace(
        use,
        commits=tuple(find_printed_commits(command, answer)),
        pull_request=make_pull_request_fact(use.agent, use.session, use.at_ns, request),
    )


def make_pull_request_fact(agent: AgentName, session: SessionId, at_ns: int, request: Fields) -> PullRequestFact | None:
    """Return a session's pull request by number, URL, repository and action; None without a number."""
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
        repository=None if repository is None else strip_unstorable_characters(repository),
        url=None if url is None else strip_unstorable_characters(url),
        action=strip_unstorable_characters(get_string(request.get("action")) or "") or None,
    )
