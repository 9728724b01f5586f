"""Check whether the URLs of sources work, or report what would be checked."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct, field

from custody.cite.addresses import PUBLIC_ONLY, RequestTarget, UnfitUrl, parse_link_target
from custody.cite.app.registry_stores import source_registry_name
from custody.cite.app.report_file import load_citation_rules, read_cited_report
from custody.cite.app.source_registry import SourceRegistry, open_source_registry
from custody.cite.catalog import Catalog
from custody.cite.links import (
    FAILURES,
    LinkCheck,
    LinkMemory,
    LinkOutcome,
    LinkVerdict,
    SkippedLink,
    count_link_failures,
    is_link_stale,
    judge_link,
    link_rate_limit_end_ns,
    select_informative_checks,
    update_link_memory,
)
from custody.cite.model import SourceID
from custody.cite.registry import (
    combine_merged_source,
    find_source_entry,
    find_source_link_memory,
    identify_source,
    iterate_sources,
)
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject
from custody.cite.wire import CiteLink, CiteLinksReport
from custody.core.errors import InputError, WorldError
from custody.core.wire.time import format_timestamp
from custody.workspace.workspace import Workspace

Web = Callable[[Sequence[str], CiteRules, Callable[[], int], Callable[[LinkOutcome], None]], None]
"""Checks URLs and reports each result as soon as it is known."""


class LinkSelection(Struct, frozen=True, kw_only=True):
    """The URLs to check: of these sources, of all, or of a report's list; with ``stale`` only outdated ones."""

    sources: tuple[SourceID, ...] = ()
    all: bool = False
    stale: bool = False
    file: str | None = None

    def __post_init__(self) -> None:
        if self.file is not None and (self.sources or self.all or self.stale):
            raise InputError(
                "--file cannot be combined with sources, --all or --stale",
                hint="--file checks only the list of a report",
            )
        if self.sources and self.all:
            raise InputError("--all cannot be combined with sources", hint="pass either --all or ids")
        if not (self.sources or self.all or self.stale or self.file):
            raise InputError("nothing to check", hint="pass source ids, --all, --stale or --file REPORT")


class _SelectedLink(NamedTuple):
    """A URL, the id of its source, and its stored checks."""

    id: str | None
    url: str
    memory: LinkMemory | None


class _LinkJudgement(NamedTuple):
    """A URL, what this run did with it, and its memory and verdict afterwards; ``why`` is empty if it did nothing."""

    link: _SelectedLink
    asks: str | None
    is_checked: bool
    memory: LinkMemory | None
    verdict: LinkVerdict | None
    why: str


class _LinkRun(Struct, kw_only=True):
    """The state of one run."""

    rules: CiteRules
    now_ns: int
    rate_limits: dict[str, int] = field(default_factory=dict)
    """Hosts that stored checks show to be rate-limited, with the end of the limit."""
    outcomes: dict[str, LinkOutcome] = field(default_factory=dict)
    informative: dict[str, LinkCheck] = field(default_factory=dict)
    """The outcomes that say something about the URL, not about this machine's network."""
    stopped: bool = False

    def end(self) -> None:
        """Select the informative outcomes, after all URLs were checked."""
        self.informative = {
            check.url: check
            for check in select_informative_checks(
                outcome for outcome in self.outcomes.values() if isinstance(outcome, LinkCheck)
            )
        }

    @property
    def offline(self) -> bool:
        return len(self.informative) < sum(isinstance(outcome, LinkCheck) for outcome in self.outcomes.values())


def check_links_on_web(
    urls: Sequence[str], rules: CiteRules, now_ns: Callable[[], int], tell: Callable[[LinkOutcome], None]
) -> None:
    """Check URLs on the public network only."""
    from custody.cite.web import LinkChecker, create_link_client, run_link_checks

    run_link_checks(
        urls,
        tell,
        client=lambda: create_link_client(rules),
        checker=lambda client: LinkChecker(client=client, now_ns=now_ns, rules=rules),
    )


def cite_check_links(
    workspace: Workspace, selection: LinkSelection, stdin: bytes = b"", *, network: bool = False, web: Web | None = None
) -> CiteLinksReport:
    """Check URLs and return the results; without ``network``, return only what would be checked."""
    rules = load_citation_rules(workspace)
    run = _LinkRun(rules=rules, now_ns=workspace.now_ns())
    registry = None if selection.file is not None else open_source_registry(workspace)
    about, chosen = _gather_selected_links(workspace, selection, stdin, registry, run)
    if network:
        _check_selected_links(workspace, chosen, run, check_links_on_web if web is None else web)
        if registry is not None:
            _store_link_checks(workspace, registry, chosen, run)
    judgements = [_judge_selected_link(link, run) for link in chosen]
    gone = network and any(judgement.verdict is LinkVerdict.GONE for judgement in judgements)
    return CiteLinksReport(
        outcome="found" if gone else "fine",
        network=network,
        file=selection.file,
        registry=about.registry,
        links=[_to_cite_link(judgement, run, network=network) for judgement in judgements],
        no_address=about.no_address,
        fresh=about.fresh,
        gone_after=rules.link_gone_after,
        offline=run.offline,
        stopped=run.stopped,
    )


class _SelectionFacts(NamedTuple):
    """Facts about the selection beside its URLs."""

    registry: str | None
    no_address: list[str]
    fresh: int


def _gather_selected_links(
    workspace: Workspace, selection: LinkSelection, stdin: bytes, registry: SourceRegistry | None, run: _LinkRun
) -> tuple[_SelectionFacts, list[_SelectedLink]]:
    if registry is None:
        listed = AuditSubject.of(read_cited_report(workspace, str(selection.file), stdin)).listing.entries
        labels = [(None if entry.label is None else str(entry.label), entry.url) for entry in listed]
        missing = [label or "-" for label, url in labels if url is None]
        return _SelectionFacts(None, missing, 0), [
            _SelectedLink(label, url, None) for label, url in labels if url is not None
        ]
    name, every = registry.store.read(
        lambda catalog: (source_registry_name(catalog), _select_sources(catalog, selection))
    )
    known = [link for link in every if link.url]
    run.rate_limits = _rate_limited_link_hosts(known)
    chosen = [link for link in known if not selection.stale or is_link_stale(link.memory, run.now_ns, run.rules)]
    return _SelectionFacts(name, [str(link.id) for link in every if not link.url], len(known) - len(chosen)), chosen


def _select_sources(catalog: Catalog, selection: LinkSelection) -> list[_SelectedLink]:
    """Return the named sources, each once, or all sources."""
    if selection.sources:
        entries = [find_source_entry(catalog, source) for source in selection.sources]
        named = {identify_source(catalog, entry).source_id: combine_merged_source(catalog, entry) for entry in entries}
    else:
        named = {identity.source_id: source for identity, source in iterate_sources(catalog)}
    return [
        _SelectedLink(source_id, (source and source.url) or "", find_source_link_memory(catalog, source_id))
        for source_id, source in named.items()
    ]


def _rate_limited_link_hosts(known: Sequence[_SelectedLink]) -> dict[str, int]:
    limits: dict[str, int] = {}
    for link in known:
        target, until = parse_link_target(link.url, PUBLIC_ONLY), link_rate_limit_end_ns(link.memory)
        if isinstance(target, RequestTarget) and until is not None:
            limits[target.host] = max(until, limits.get(target.host, 0))
    return limits


def _check_selected_links(workspace: Workspace, chosen: Sequence[_SelectedLink], run: _LinkRun, web: Web) -> None:
    """Check the URLs; an interrupt keeps the outcomes so far."""
    urls = list(dict.fromkeys(link.url for link in chosen if isinstance(_choose_link_target(link, run), RequestTarget)))
    if not urls:
        return
    workspace.progress.start("checking links", len(urls))

    def tell(outcome: LinkOutcome) -> None:
        run.outcomes[outcome.url] = outcome
        workspace.progress.step(1)

    try:
        web(urls, run.rules, workspace.now_ns, tell)
    except KeyboardInterrupt:
        run.stopped = True
    run.end()


def _store_link_checks(
    workspace: Workspace, registry: SourceRegistry, chosen: Sequence[_SelectedLink], run: _LinkRun
) -> None:
    try:
        registry.record_checks(
            (str(link.id), run.informative[link.url]) for link in chosen if link.url in run.informative
        )
    except WorldError as error:
        workspace.talk(f"{error.message}; the results are shown but not stored")


def _choose_link_target(link: _SelectedLink, run: _LinkRun) -> RequestTarget | UnfitUrl | SkippedLink:
    """Return the request for a URL, or the reason not to check it."""
    target = parse_link_target(link.url, PUBLIC_ONLY)
    if isinstance(target, RequestTarget) and run.now_ns < run.rate_limits.get(target.host, 0):
        return SkippedLink(link.url, f"rate-limited until {format_timestamp(run.rate_limits[target.host])}")
    return target


def _judge_selected_link(link: _SelectedLink, run: _LinkRun) -> _LinkJudgement:
    target = _choose_link_target(link, run)
    outcome = run.outcomes.get(link.url) if isinstance(target, RequestTarget) else target
    asks = target.url if isinstance(target, RequestTarget) else None
    return _LinkJudgement(link, asks, isinstance(outcome, LinkCheck), *_judge_link_outcome(link, outcome, run))


def _to_cite_link(judgement: _LinkJudgement, run: _LinkRun, *, network: bool) -> CiteLink:
    memory = judgement.memory
    last = None if memory is None else memory.last
    why = judgement.why
    if not why:
        why = "not checked: interrupted" if network else "" if last is None else last.why
    return CiteLink(
        id=judgement.link.id,
        address=judgement.link.url,
        asks=judgement.asks,
        looked=judgement.is_checked,
        verdict=None if judgement.verdict is None else judgement.verdict.value,
        why=why,
        status=None if last is None else last.status,
        location=None if last is None else last.location,
        failures=0 if memory is None else count_link_failures(memory, run.rules),
        at=None if memory is None else format_timestamp(memory.at_ns),
    )


def _judge_link_outcome(
    link: _SelectedLink, outcome: LinkOutcome | UnfitUrl | None, run: _LinkRun
) -> tuple[LinkMemory | None, LinkVerdict | None, str]:
    """Return memory and verdict as they are now, and the reason from this run; empty if it checked nothing."""
    verdict = None if link.memory is None else judge_link(link.memory, run.rules)
    match outcome:
        case UnfitUrl():
            return link.memory, LinkVerdict.BLOCKED, f"not checked: {outcome.why}"
        case LinkCheck():
            return *_judge_link_check(link, outcome, verdict, run), outcome.why
        case SkippedLink():
            return link.memory, verdict, f"not checked: {outcome.why}"
        case None:
            return link.memory, verdict, ""


def _judge_link_check(
    link: _SelectedLink, check: LinkCheck, before: LinkVerdict | None, run: _LinkRun
) -> tuple[LinkMemory | None, LinkVerdict]:
    """Return memory and verdict after a check; a failure that does not count changes no memory."""
    if check.answer in FAILURES and check.url not in run.informative:
        return link.memory, LinkVerdict.GONE if before is LinkVerdict.GONE else LinkVerdict.UNREACHABLE
    memory = update_link_memory(link.memory, check, run.now_ns)
    return memory, judge_link(memory, run.rules)
