"""Effects of a shell command, by its own text and its output: files written, commits made, pull requests opened."""

import posixpath
import re

from msgspec.structs import replace

from custody.capture.shell import Write, parse_shell_commands, parse_shell_writes
from custody.capture.tool_use import ShellRun, ToolUse
from custody.capture.typed_field import Fields, get_string, strip_unstorable_characters
from custody.core.ids import AgentName, SessionId
from custody.core.patterns import lazy_pattern
from custody.core.views import PullRequestFact

NUMBER_MAX = 2**53
NOT_WRITTEN = ("No such file or directory", "Permission denied", "Is a directory", "Read-only file system")
"""Messages of a failed command that may not have written its files."""

_COMMITTED = lazy_pattern(r"^\[[^\]\n]* ([0-9a-f]{7,64})\] ", re.MULTILINE)
_COMMITTING = frozenset(("commit", "cherry-pick", "revert"))
_OPENED = lazy_pattern(r"https?://[^/\s]+/[^/\s]+/[^/\s]+/pull/(\d{1,15})\b")
_PULL_URL = lazy_pattern(r"https?://[^/\s]+/([^/\s]+/[^/\s]+)/pull/\d+")


def find_written_files(run: ShellRun | None) -> tuple[Write, ...]:
    """Return the files that a command certainly wrote, by its own text; snapshots around it show more."""
    if run is None or run.command is None or run.output.running or run.output.refused:
        return ()
    if run.output.failed and any(mark in run.output.text for mark in NOT_WRITTEN):
        return ()
    sure = [write for write in parse_shell_writes(run.command) if write.sure or not run.output.failed]
    return tuple(replace(write, path=posixpath.join(run.folder, write.path)) for write in sure)


def find_printed_commits(run: ShellRun | None) -> tuple[str, ...]:
    """Return the commits that a command made, as git printed them, usually abbreviated."""
    command = None if run is None else run.command
    if run is None or command is None or "git" not in command or not any(word in command for word in _COMMITTING):
        return ()
    steps = parse_shell_commands(command)
    commits = steps is None or any(step.words[:1] == ("git",) and _COMMITTING & set(step.words) for step in steps)
    return tuple(dict.fromkeys(_COMMITTED.findall(run.output.text))) if commits else ()


def add_git_facts(use: ToolUse, command: str | None) -> ToolUse:
    """Return the call with the commits that its command made and the pull request that it opened, by its output."""
    answer = use.output
    opened = _OPENED.search(answer.text) if command is not None and "gh pr create" in command else None
    request = {"number": int(opened[1]), "url": opened[0], "action": "created"} if opened and not answer.failed else {}
    return replace(
        use,
        commits=find_printed_commits(ShellRun(command, answer)),
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
