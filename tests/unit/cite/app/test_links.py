"""Link checks of the registry: requests, stored results, verdicts."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from custody.cite.app.links import LinkSelection, cite_check_links
from custody.cite.app.registry_stores import RecordRegistryStore
from custody.cite.app.source_registry import SourceRegistry
from custody.cite.links import DAY_NS, HOUR_NS, LinkAnswer, LinkCheck, LinkOutcome, SkippedLink
from custody.cite.queries.registry import RegistryTables
from custody.cite.rules import CiteRules
from custody.cite.wire import CiteLink, CiteLinksReport
from custody.core.errors import InputError
from custody.core.wire.time import format_timestamp
from custody.workspace.workspace import Progress, Workspace
from tests.builders.cli import a_git_folder
from tests.builders.sources import a_source
from tests.builders.stores import NOON

ALL = LinkSelection(all=True)
URLS = [f"https://example.org/{n}" for n in range(1, 4)]


class Told:
    """A fake web with scripted answers that records its requests."""

    def __init__(self, *answers: LinkOutcome | type[BaseException]) -> None:
        self._answers = answers
        self.asked: list[str] = []

    def __call__(
        self, urls: Sequence[str], rules: CiteRules, now_ns: Callable[[], int], tell: Callable[[LinkOutcome], None]
    ) -> None:
        self.asked += urls
        for answer in self._answers:
            if isinstance(answer, type):
                raise answer
            if answer.url in urls:
                tell(answer)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace at noon with three sources."""
    made = Workspace(a_git_folder(tmp_path / "repository"), now_ns=lambda: NOON)
    registry = SourceRegistry(RecordRegistryStore(made), "ana", made.now_ns, made.token)
    for n in range(1, 4):
        registry.register(a_source(n))
    return made


def later(workspace: Workspace, hours: float) -> Workspace:
    return replace(workspace, now_ns=lambda: NOON + int(hours * HOUR_NS))


def a_look(n: int = 1, answer: LinkAnswer = LinkAnswer.HERE, status: int | None = 200, **fields: Any) -> LinkCheck:
    return LinkCheck(**{"url": URLS[n - 1], "answer": answer, "why": "so", "status": status, **fields})


def missing(n: int = 1) -> LinkCheck:
    return a_look(n, LinkAnswer.ABSENT, 404)


def silent(n: int = 1) -> LinkCheck:
    return a_look(n, LinkAnswer.SILENT, None)


def checked(
    workspace: Workspace, *answers: LinkOutcome | type[BaseException], wanted: LinkSelection = ALL
) -> CiteLinksReport:
    return cite_check_links(workspace, wanted, network=True, web=Told(*answers))


def verdicts(report: CiteLinksReport) -> list[str | None]:
    return [link.verdict for link in report.links]


def the_link(report: CiteLinksReport, source_id: str = "S1") -> CiteLink:
    return next(link for link in report.links if link.id == source_id)


def test_without_network_nothing_is_sent_and_every_request_is_listed(workspace: Workspace) -> None:
    web = Told()
    report = cite_check_links(workspace, ALL, web=web)
    assert web.asked == []
    assert (report.network, report.outcome) == (False, "fine")
    assert [(link.id, link.asks, link.verdict, link.looked) for link in report.links] == [
        (f"S{n}", URLS[n - 1], None, False) for n in range(1, 4)
    ]


def test_the_requests_are_those_that_were_listed(workspace: Workspace) -> None:
    web = Told()
    shown = [link.asks for link in cite_check_links(workspace, ALL).links]
    cite_check_links(workspace, ALL, network=True, web=web)
    assert web.asked == shown == URLS


# Conformance: 003-105
def test_gone_needs_three_failures_a_day_apart(workspace: Workspace) -> None:
    seen = []
    for hours in (0, 1, 24, 47, 48):
        report = checked(later(workspace, hours), missing(1), a_look(2), a_look(3))
        seen.append((report.outcome, the_link(report).verdict, the_link(report).failures))
    assert seen == [
        ("fine", "unreachable", 1),
        ("fine", "unreachable", 1),
        ("fine", "unreachable", 2),
        ("fine", "unreachable", 2),
        ("found", "gone", 3),
    ]
    assert the_link(cite_check_links(later(workspace, 50), ALL)).verdict == "gone"
    assert checked(later(workspace, 51), a_look(1), a_look(2)).outcome == "fine"


def test_every_verdict(workspace: Workspace) -> None:
    moved = a_look(2, LinkAnswer.MOVED, location="https://example.org/new")
    report = checked(workspace, a_look(1), moved, a_look(3, LinkAnswer.REFUSED, 403))
    assert verdicts(report) == ["alive", "moved", "blocked"]
    assert the_link(report, "S2").location == "https://example.org/new"
    assert verdicts(cite_check_links(workspace, ALL)) == ["alive", "moved", "blocked"], "it is stored"


def test_an_offline_machine_counts_no_failures(workspace: Workspace) -> None:
    for days in range(5):
        report = checked(later(workspace, 24 * days), silent(1), silent(2), a_look(3, LinkAnswer.ABSENT, None))
        assert verdicts(report) == ["unreachable"] * 3
        assert (report.offline, report.outcome) == (True, "fine")
    assert verdicts(cite_check_links(workspace, ALL)) == [None] * 3


def test_a_gone_url_stays_gone_while_offline(workspace: Workspace) -> None:
    for days in range(3):
        checked(later(workspace, 24 * days), missing(1), a_look(2))
    report = checked(later(workspace, 96), silent(1), silent(2))
    assert verdicts(report)[:2] == ["gone", "unreachable"]
    assert the_link(report).failures == 3


def test_a_skipped_url_keeps_its_stored_checks(workspace: Workspace) -> None:
    checked(workspace, a_look(1))
    report = checked(later(workspace, 1), SkippedLink(URLS[0], "'example.org' failed too often"))
    link = the_link(report)
    assert (link.verdict, link.looked, link.why) == (
        "alive",
        False,
        "not checked: 'example.org' failed too often",
    )
    assert verdicts(report) == ["alive", None, None]


def test_an_interrupt_keeps_the_results_so_far(workspace: Workspace) -> None:
    report = checked(workspace, a_look(1), KeyboardInterrupt, a_look(2))
    assert (report.stopped, verdicts(report)) == (True, ["alive", None, None])
    assert the_link(report, "S2").why == "not checked: interrupted"
    assert verdicts(cite_check_links(workspace, ALL)) == ["alive", None, None]


# Conformance: 003-105
def test_stale_urls_were_never_checked_or_long_ago(workspace: Workspace) -> None:
    checked(workspace, a_look(1), missing(2))
    stale = LinkSelection(stale=True)

    def ids(hours: float) -> tuple[list[str | None], int]:
        report = cite_check_links(later(workspace, hours), stale)
        return [link.id for link in report.links], report.fresh

    assert ids(1) == (["S3"], 2)
    assert ids(24) == (["S2", "S3"], 1)
    assert ids(24 * 30) == (["S1", "S2", "S3"], 0)
    assert [link.id for link in cite_check_links(workspace, LinkSelection(sources=("S1", "S3"), stale=True)).links] == [
        "S3"
    ]


def test_a_rate_limited_host_is_skipped_until_the_limit_ends(workspace: Workspace) -> None:
    asked = a_look(1, LinkAnswer.REFUSED, 429, retry_seconds=7200)
    checked(workspace, asked, wanted=LinkSelection(sources=("S1",)))
    web = Told(a_look(1))
    report = cite_check_links(later(workspace, 1), LinkSelection(sources=("S1",)), network=True, web=web)
    assert (web.asked, the_link(report).verdict, the_link(report).asks) == ([], "blocked", None)
    assert the_link(report).why.startswith("not checked: rate-limited until ")
    report = cite_check_links(later(workspace, 1), ALL, network=True, web=web)
    assert web.asked == [], "the server set the limit, not the page"
    assert verdicts(report) == ["blocked", None, None]
    assert verdicts(checked(later(workspace, 2), a_look(1), wanted=LinkSelection(sources=("S1",)))) == ["alive"]


def test_skipped_urls_have_a_reason(workspace: Workspace) -> None:
    registry = SourceRegistry(RecordRegistryStore(workspace), "ana", workspace.now_ns, workspace.token)
    for url in ("http://10.0.0.1/", "ftp://example.org/x", None):
        registry.register(a_source(url=url, title=f"t {url}"))
    web = Told()
    report = cite_check_links(workspace, LinkSelection(sources=("S4", "S5", "S6")), network=True, web=web)
    assert web.asked == []
    assert [(link.verdict, link.why) for link in report.links] == [
        ("blocked", "not checked: 10.0.0.1 is private"),
        ("blocked", "not checked: not a web URL"),
    ]
    assert report.no_address == ["S6"]


def test_an_alias_is_the_source_it_was_merged_into(workspace: Workspace) -> None:
    SourceRegistry(RecordRegistryStore(workspace), "ana", workspace.now_ns, workspace.token).merge(
        "S1", "S2", "the same"
    )
    report = checked(workspace, a_look(1), wanted=LinkSelection(sources=("S2", "S1")))
    assert [(link.id, link.address) for link in report.links] == [("S1", URLS[0])]


def test_progress_is_reported_and_a_check_is_a_record(workspace: Workspace) -> None:
    told: list[Any] = []
    watched = replace(workspace, progress=Progress(lambda what, total: told.append((what, total)), told.append))
    checked(watched, a_look(1), a_look(2))
    assert told[-3:] == [("checking links", 3), 1, 1]
    with workspace.reading() as store:
        assert RegistryTables(store).catalog(store.own()).check(1) is not None


REPORT = b"""\
One[1]. Two[2]. Three[3].

## Sources

1. [A](https://example.org/1)
2. [B](http://127.0.0.1/b)
3. A book
4. [A again](https://example.org/1)
"""


def test_a_reports_list_is_checked_without_a_registry(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_bytes(REPORT)
    workspace, web = Workspace(tmp_path, now_ns=lambda: NOON), Told(missing(1))
    report = cite_check_links(workspace, LinkSelection(file="report.md"), network=True, web=web)
    assert web.asked == [URLS[0]], "each URL once"
    assert [(link.id, link.verdict) for link in report.links] == [
        ("1", "unreachable"),
        ("2", "blocked"),
        ("4", "unreachable"),
    ]
    assert (report.no_address, report.outcome, report.registry) == (["3"], "fine", None)
    assert list(tmp_path.iterdir()) == [tmp_path / "report.md"]


@pytest.mark.parametrize(
    "said",
    [{}, {"file": "a.md", "all": True}, {"file": "a.md", "sources": ("S1",)}, {"sources": ("S1",), "all": True}],
)
def test_contradictory_selections_are_rejected(said: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        LinkSelection(**said)


def test_an_unknown_source_is_rejected_before_any_request(workspace: Workspace) -> None:
    web = Told()
    with pytest.raises(InputError, match="unknown source 'S9'"):
        cite_check_links(workspace, LinkSelection(sources=("S1", "S9")), network=True, web=web)
    assert web.asked == []


def test_rules_of_a_repository_set_limits_but_not_the_address_policy(workspace: Workspace) -> None:
    (workspace.folder / "custody.toml").write_text("[cite]\nlink_gone_after = 1\n")
    assert verdicts(checked(workspace, missing(1), a_look(2)))[0] == "gone"
    (workspace.folder / "custody.toml").write_text("[cite]\nlink_ports = [22]\n")
    with pytest.raises(InputError, match="link_ports"):
        cite_check_links(workspace, ALL)


def test_days_are_counted_by_the_clock_passed_in(workspace: Workspace) -> None:
    checked(workspace, a_look(1))
    assert the_link(cite_check_links(later(workspace, 10 * DAY_NS / HOUR_NS), ALL)).at == format_timestamp(NOON)
