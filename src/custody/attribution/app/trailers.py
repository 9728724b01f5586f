"""Disclosure in commits: ``Assisted-by`` trailers that rest on records, and whether commits have them.

Only lines that custody captured count: a trailer, a note or a claim of another tool never backs a trailer.
"""

from collections.abc import Sequence
from pathlib import Path

from custody.attribution.app.commit_authors import attribute_commit_lines
from custody.attribution.app.context import open_attribution
from custody.attribution.wire import CommitTrailers, TrailerReport
from custody.core.commit_agents import ASSISTED_BY, NamedAgent, list_assisting_agents
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.patterns import lazy_pattern
from custody.git import Commit, Repository, Walk
from custody.workspace.workspace import Workspace

COMMITS_MAX = 10_000
MESSAGE_BYTES_MAX = 1 << 20
_TRAILER = lazy_pattern(r"[A-Za-z0-9-]+: ?\S.*|\(cherry picked from commit .*\)")
_SCISSORS = lazy_pattern(r"^. -{8,} >8 -{8,}$")


def find_commit_trailers(
    workspace: Workspace, what: str, *, check: bool = False, message: Path | None = None
) -> TrailerReport:
    """Return the trailers of a commit, or of ``BASE..HEAD``; with ``message`` its file gets the missing ones.

    With ``check`` the outcome tells whether all commits have exactly the trailers that the records support.
    """
    commits = _list_commits(workspace.repository, what)
    text = None if message is None else _read_message(message)
    if text is not None and len(commits) != 1:
        raise InputError("a message belongs to one commit", hint="pass one commit, not a range")
    agents = _find_agents(workspace, commits)
    reports = [
        _report_commit(commit, *agents[commit.id], commit.message.decode(errors="replace") if text is None else text)
        for commit in commits
    ]
    if text is not None and message is not None:
        message.write_text(add_message_trailers(text, reports[0].missing), "utf-8", "surrogateescape", newline="")
    is_found = check and any(report.missing or report.unbacked for report in reports)
    written = None if message is None else str(message)
    return TrailerReport(outcome="found" if is_found else "fine", commits=reports, written=written)


def _list_commits(repository: Repository, what: str) -> list[Commit]:
    base, dots, head = what.partition("..")
    walk = Walk(count_max=COMMITS_MAX + 1, without=[repository.resolve(base)]) if dots else Walk(count_max=1)
    with repository.log([repository.resolve((head.lstrip(".") or "HEAD") if dots else what)], walk=walk) as log:
        commits = [commit for commit in log if not dots or len(commit.parents) < 2]
    if len(commits) > COMMITS_MAX:
        raise InputError(f"'{what}' has over {COMMITS_MAX:,} commits", hint="pass a smaller range")
    return commits[::-1]


def _read_message(message: Path) -> str:
    try:
        data = message.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read '{message}': {error.strerror}", hint="pass the file of a message") from error
    if len(data) > MESSAGE_BYTES_MAX:
        raise InputError(f"'{message}' is too large for a commit message")
    return data.decode("utf-8", "surrogateescape")


def _find_agents(
    workspace: Workspace, commits: Sequence[Commit]
) -> dict[CommitSha, tuple[list[tuple[str, str | None]], int]]:
    """Return the agents and models that wrote lines of each commit, most lines first, and the number of lines."""
    counts: dict[CommitSha, dict[tuple[str, str | None], int]] = {commit.id: {} for commit in commits}
    with open_attribution(workspace) as evidence:
        for written in attribute_commit_lines(evidence, [commit.id for commit in commits]):
            for lines in written:
                if lines.captured:
                    models = counts[lines.commit]
                    models[lines.agent, lines.model] = models.get((lines.agent, lines.model), 0) + len(lines.lines)
    return {
        commit: (sorted(models, key=lambda each: (-models[each], each[0], each[1] or "")), sum(models.values()))
        for commit, models in counts.items()
    }


def _report_commit(
    commit: Commit, agents: Sequence[tuple[str, str | None]], lines: int, message: str
) -> CommitTrailers:
    expected = list(dict.fromkeys(agents))
    stated = list_assisting_agents(message)
    return CommitTrailers(
        commit=commit.id,
        subject=commit.subject.decode(errors="replace"),
        lines=lines,
        trailers=[format_trailer(agent, model) for agent, model in expected],
        missing=[
            format_trailer(agent, model)
            for agent, model in expected
            if not any(_names_model(named, agent, model) for named in stated)
        ],
        unbacked=[
            format_trailer(named.agent, named.model)
            for named in stated
            if not any(_names_model(named, agent, model) for agent, model in expected)
        ],
    )


def _names_model(named: NamedAgent, agent: str, model: str | None) -> bool:
    """Return whether a trailer names this agent, and no other model than the recorded one."""
    if named.agent != agent.lower():
        return False
    return named.model is None or model is None or named.model.lower() == model.lower()


def format_trailer(agent: str, model: str | None) -> str:
    """Return the trailer of an agent and its model.

    >>> format_trailer("claude-code", "claude-opus-4-6"), format_trailer("codex", None)
    ('Assisted-by: claude-code:claude-opus-4-6', 'Assisted-by: codex')
    """
    value = agent if model is None else f"{agent}:{model}"
    return f"{ASSISTED_BY}: {' '.join(value.split())}"


def add_message_trailers(message: str, trailers: Sequence[str], mark: str = "#") -> str:
    """Return a commit message with trailers at the end of its own text, before the comments of an editor.

    >>> add_message_trailers("Fix it\\n\\nSigned-off-by: Ana <a@example.org>\\n# Changes:\\n", ["Assisted-by: codex"])
    'Fix it\\n\\nSigned-off-by: Ana <a@example.org>\\nAssisted-by: codex\\n# Changes:\\n'
    >>> add_message_trailers("Fix it\\n", ["Assisted-by: codex"])
    'Fix it\\n\\nAssisted-by: codex\\n'
    """
    if not trailers:
        return message
    lines = message.splitlines(keepends=True)
    end = next((n for n, line in enumerate(lines) if _SCISSORS.match(line.rstrip("\r\n"))), len(lines))
    while end and (not lines[end - 1].strip() or lines[end - 1].startswith(mark)):
        end -= 1
    text, rest = lines[:end], lines[end:]
    if text and not text[-1].endswith("\n"):
        text[-1] += "\n"
    blank = [] if not text or _ends_in_trailers(text) else ["\n"]
    return "".join([*text, *blank, *(f"{trailer}\n" for trailer in trailers), *rest])


def _ends_in_trailers(lines: Sequence[str]) -> bool:
    """Return whether the last paragraph, which is not the subject, has only trailers."""
    start = len(lines)
    while start and lines[start - 1].strip():
        start -= 1
    return start > 0 and all(_TRAILER.fullmatch(line.strip()) or line[0] in " \t" for line in lines[start:])
