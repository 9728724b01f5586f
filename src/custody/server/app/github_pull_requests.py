"""Judge a pull request and tell GitHub: a check run on its head, and one comment where that is wanted.

Of what a fork's owner chose (names of branches, of the fork, titles) nothing reaches git or an address: commits are
asked for by their full names, the request by its number.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from custody import __version__
from custody.core.errors import CustodyError, GitError, InputError
from custody.core.ids import CommitSha
from custody.core.wire.time import text_from
from custody.gate.app.gate import GateRequest, formed, gate
from custody.gate.wire.forms import MARK, escape_markup
from custody.gate.wire.report import GateReport, VerdictLevelName
from custody.server.github.api import GitHub, GitHubRefusal
from custody.server.github.shapes import Comment, Pull, encode_unjudged, parse_commit_name
from custody.workspace.workspace import Workspace

CHECK = "custody"
"""The name of our check run."""
MOVES_MAX = 5
"""So often a head may move while it is judged; who pushes faster gets the verdict on a later delivery."""


class FetchDelayError(GitError):
    """The commits could not be had for now: a network, a server."""


class ReviewFate(Enum):
    """What became of the wish to judge a pull request."""

    TOLD = "told"
    CLOSED = "closed"
    """It was closed before anybody looked."""
    MOVED = "moved"
    """Its head moved each time it was looked at."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of the wish, and the verdict; ``level`` is None where the change could not be judged."""

    fate: ReviewFate
    level: VerdictLevelName | None = None


Fetch = Callable[[int], None]
"""Brings the objects of the pull request of this number into the repository of the workspace."""


@dataclass(frozen=True, slots=True)
class PullRequestJudge:
    """Where pull requests of one repository are judged, and how GitHub is told."""

    workspace: Workspace
    github: GitHub
    repository: str
    fetch: Fetch
    comments: bool = False

    def judge(self, number: int) -> Judgement:
        """Judge a pull request as it is now; a head that moves meanwhile is judged again, never told as the old one."""
        pull = self.github.pull(self.repository, number)
        for _ in range(MOVES_MAX):
            if pull.state != "open":
                return Judgement(ReviewFate.CLOSED)
            head = parse_commit_name(pull.head.sha)
            report = self._report(number, pull)
            pull = self.github.pull(self.repository, number)
            if pull.head.sha == head:
                told = self._make_judgement(number, head, report if isinstance(report, GateReport) else report.message)
                if isinstance(report, FetchDelayError):
                    raise report  # it is told that there is no verdict yet; the job is tried again
                return told
        return Judgement(ReviewFate.MOVED)

    def _report(self, number: int, pull: Pull) -> GateReport | CustodyError:
        """The verdict, or why there is none."""
        base, head = parse_commit_name(pull.base.sha), parse_commit_name(pull.head.sha)
        said = f"{pull.title}\n\n{pull.body or ''}\n".encode("utf-8", "replace")
        try:
            self.fetch(number)
        except GitError as error:
            return FetchDelayError(error.message, hint=error.hint)
        try:
            return gate(self.workspace, GateRequest(change=f"{base}..{head}", description=said))
        except (InputError, GitError) as error:
            return error

    def _make_judgement(self, number: int, head: CommitSha, report: GateReport | str) -> Judgement:
        now = text_from(self.workspace.now_ns())
        if isinstance(report, str):
            level, text = None, f"{MARK}\n**custody**: could not be judged: {escape_markup(report)}\n"
            body = encode_unjudged(CHECK, head, now, escape_markup(report))
        else:
            level, text = report.level, formed(report, "markdown", __version__).decode()
            body = formed(report, "check-run", __version__)
        self._put(head, body)
        if self.comments:
            self._comment(number, text)
        return Judgement(ReviewFate.TOLD, level)

    def _put(self, head: CommitSha, body: bytes) -> None:
        """Write our check run of that head, changed if there is one; another's of that name is not ours to change."""
        for known in self.github.check_runs(self.repository, head, CHECK):
            try:
                self.github.put_check_run(self.repository, body, known.id)
            except GitHubRefusal:
                continue
            return
        self.github.put_check_run(self.repository, body)

    def _comment(self, number: int, text: str) -> None:
        """Write our one comment, edited in place; somebody else's with our mark stays as it is."""
        login = self.github.login()
        comments = self.github.comments(self.repository, number)
        known = next((comment.id for comment in comments if _is_ours(comment, login)), None)
        self.github.put_comment(self.repository, number, text, known)


def _is_ours(comment: Comment, login: str | None) -> bool:
    if comment.user is None or not (comment.body or "").startswith(MARK):
        return False
    return comment.user.type == "Bot" if login is None else comment.user.login == login
