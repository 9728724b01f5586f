"""See whether the addresses of sources answer, or say what would be asked: gather, look, remember, report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from custody.cite.addresses import PUBLIC_ONLY, RequestTarget, UnfitUrl, target_of
from custody.cite.app.registry_stores import registry_name
from custody.cite.app.report_file import read_report, rules_for
from custody.cite.app.source_registry import SourceRegistry, registry_of
from custody.cite.links import (
    FAILURES,
    LinkCheck,
    LinkMemory,
    LinkOutcome,
    LinkVerdict,
    SkippedLink,
    failures_counted,
    held_until_ns,
    is_stale,
    select_informative_checks,
    update_link_memory,
    verdict_of,
)
from custody.cite.model import SourceID
from custody.cite.registry import check_of, entry_of, identity_of, source_of, sources
from custody.cite.rules import CiteRules
from custody.cite.shelf import Shelf
from custody.cite.subject import AuditSubject
from custody.cite.wire import CiteLink, CiteLinksReport
from custody.core.errors import InputError, WorldError
from custody.core.wire.time import text_from
from custody.workspace.workspace import Workspace

Web = Callable[[Sequence[str], CiteRules, Callable[[], int], Callable[[LinkOutcome], None]], None]
"""Looks at addresses, and tells of each as soon as it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSelection:
    """Which addresses: of these sources, of all, of a report's list; with ``stale`` only those to look at again."""

    sources: tuple[SourceID, ...] = ()
    all: bool = False
    stale: bool = False
    file: str | None = None

    def __post_init__(self) -> None:
        if self.file is not None and (self.sources or self.all or self.stale):
            raise InputError("--file checks a report's own list", hint="leave sources, --all and --stale out")
        if self.sources and self.all:
            raise InputError("--all is every source", hint="name some sources, or all of them")
        if not (self.sources or self.all or self.stale or self.file):
            raise InputError("no address was named", hint="name sources, or add --all, --stale or --file REPORT")


class _SelectedLink(NamedTuple):
    """An address, whose it is, and what is remembered of it."""

    id: str | None
    url: str
    memory: LinkMemory | None


@dataclass(slots=True, kw_only=True)
class _LinkRun:
    """What is known while addresses are looked at."""

    rules: CiteRules
    now_ns: int
    held: dict[str, int] = field(default_factory=dict)
    """Until when a host asked to be left alone, as far as that is remembered of the sources that were gathered."""
    found: dict[str, LinkOutcome] = field(default_factory=dict)
    told: dict[str, LinkCheck] = field(default_factory=dict)
    """Of what was found, what says something about its address."""
    stopped: bool = False

    def end(self) -> None:
        """See what was told, now that everything was asked."""
        self.told = {
            look.url: look
            for look in select_informative_checks(
                outcome for outcome in self.found.values() if isinstance(outcome, LinkCheck)
            )
        }

    @property
    def offline(self) -> bool:
        return len(self.told) < sum(isinstance(outcome, LinkCheck) for outcome in self.found.values())


def ask_web(
    urls: Sequence[str], rules: CiteRules, now_ns: Callable[[], int], tell: Callable[[LinkOutcome], None]
) -> None:
    """Look at addresses of the public network, and at nothing else."""
    from custody.cite.web import LinkChecker, guarded_client, look_at_all

    look_at_all(
        urls,
        tell,
        client=lambda: guarded_client(rules),
        checker=lambda client: LinkChecker(client=client, now_ns=now_ns, rules=rules),
    )


def cite_check_links(
    workspace: Workspace, wanted: LinkSelection, stdin: bytes = b"", *, network: bool = False, web: Web | None = None
) -> CiteLinksReport:
    """How the addresses answer; without ``network`` nothing is asked, and the report says what would be."""
    rules = rules_for(workspace)
    run = _LinkRun(rules=rules, now_ns=workspace.now_ns())
    registry = None if wanted.file is not None else registry_of(workspace)
    about, chosen = _gathered(workspace, wanted, stdin, registry, run)
    if network:
        _look(workspace, chosen, run, ask_web if web is None else web)
        if registry is not None:
            _remember(workspace, registry, chosen, run)
    links = [_shown(selected_link, run, network=network) for selected_link in chosen]
    gone = network and any(link.verdict == LinkVerdict.GONE.value for link in links)
    return CiteLinksReport(
        outcome="found" if gone else "fine",
        network=network,
        file=wanted.file,
        registry=about.registry,
        links=links,
        no_address=about.no_address,
        fresh=about.fresh,
        gone_after=rules.link_gone_after,
        offline=run.offline,
        stopped=run.stopped,
    )


class _SelectionFacts(NamedTuple):
    """What there is to say of the sources beside their addresses."""

    registry: str | None
    no_address: list[str]
    fresh: int


def _gathered(
    workspace: Workspace, wanted: LinkSelection, stdin: bytes, registry: SourceRegistry | None, run: _LinkRun
) -> tuple[_SelectionFacts, list[_SelectedLink]]:
    if registry is None:
        listed = AuditSubject.of(read_report(workspace, str(wanted.file), stdin)).listing.entries
        labels = [(None if entry.label is None else str(entry.label), entry.url) for entry in listed]
        missing = [label or "-" for label, url in labels if url is None]
        return _SelectionFacts(None, missing, 0), [
            _SelectedLink(label, url, None) for label, url in labels if url is not None
        ]
    name, every = registry.keeper.look(lambda shelf: (registry_name(shelf), _select_sources(shelf, wanted)))
    known = [link for link in every if link.url]
    run.held = _list_held_hosts(known, run)
    chosen = [link for link in known if not wanted.stale or is_stale(link.memory, run.now_ns, run.rules)]
    return _SelectionFacts(name, [str(link.id) for link in every if not link.url], len(known) - len(chosen)), chosen


def _select_sources(shelf: Shelf, wanted: LinkSelection) -> list[_SelectedLink]:
    """The sources that were named, each once, or all of them."""
    if wanted.sources:
        entries = [entry_of(shelf, source) for source in wanted.sources]
        named = {identity_of(shelf, entry).source_id: source_of(shelf, entry) for entry in entries}
    else:
        named = {identity.source_id: source for identity, source in sources(shelf)}
    return [
        _SelectedLink(source_id, (source and source.url) or "", check_of(shelf, source_id))
        for source_id, source in named.items()
    ]


def _list_held_hosts(known: Sequence[_SelectedLink], run: _LinkRun) -> dict[str, int]:
    held: dict[str, int] = {}
    for link in known:
        target, until = target_of(link.url, PUBLIC_ONLY), held_until_ns(link.memory)
        if isinstance(target, RequestTarget) and until is not None:
            held[target.host] = max(until, held.get(target.host, 0))
    return held


def _look(workspace: Workspace, chosen: Sequence[_SelectedLink], run: _LinkRun, web: Web) -> None:
    """Ask; what was found out before somebody broke it off is kept."""
    urls = list(dict.fromkeys(link.url for link in chosen if isinstance(_choose_target(link, run), RequestTarget)))
    if not urls:
        return
    workspace.progress.start("checking links", len(urls))

    def tell(found: LinkOutcome) -> None:
        run.found[found.url] = found
        workspace.progress.step(1)

    try:
        web(urls, run.rules, workspace.now_ns, tell)
    except KeyboardInterrupt:
        run.stopped = True
    run.end()


def _remember(workspace: Workspace, registry: SourceRegistry, chosen: Sequence[_SelectedLink], run: _LinkRun) -> None:
    try:
        registry.checked((str(link.id), run.told[link.url]) for link in chosen if link.url in run.told)
    except WorldError as error:
        workspace.talk(f"{error.message}; what was found out is shown, and not remembered")


def _choose_target(link: _SelectedLink, run: _LinkRun) -> RequestTarget | UnfitUrl | SkippedLink:
    """What is asked for an address, or why it is not."""
    target = target_of(link.url, PUBLIC_ONLY)
    if isinstance(target, RequestTarget) and run.now_ns < run.held.get(target.host, 0):
        return SkippedLink(link.url, f"its server asked for patience until {text_from(run.held[target.host])}")
    return target


def _shown(link: _SelectedLink, run: _LinkRun, *, network: bool) -> CiteLink:
    asked = _choose_target(link, run)
    found = run.found.get(link.url) if isinstance(asked, RequestTarget) else asked
    memory, verdict, why = _known_of(link, found, run)
    if not why:
        why = "not asked: broken off" if network else "" if memory is None else memory.last.why
    look = None if memory is None else memory.last
    return CiteLink(
        id=link.id,
        address=link.url,
        asks=asked.url if isinstance(asked, RequestTarget) else None,
        looked=isinstance(found, LinkCheck),
        verdict=None if verdict is None else verdict.value,
        why=why,
        status=None if look is None else look.status,
        location=None if look is None else look.location,
        failures=0 if memory is None else failures_counted(memory, run.rules),
        at=None if memory is None else text_from(memory.at_ns),
    )


def _known_of(
    link: _SelectedLink, found: LinkOutcome | UnfitUrl | None, run: _LinkRun
) -> tuple[LinkMemory | None, LinkVerdict | None, str]:
    """Memory and verdict as they are now, and what this run has to say; nothing where it did not come to it."""
    verdict = None if link.memory is None else verdict_of(link.memory, run.rules)
    match found:
        case UnfitUrl():
            return link.memory, LinkVerdict.BLOCKED, f"not asked: {found.why}"
        case LinkCheck():
            return *_after(link, found, verdict, run), found.why
        case SkippedLink():
            return link.memory, verdict, f"not asked: {found.why}"
        case None:
            return link.memory, verdict, ""


def _after(
    link: _SelectedLink, look: LinkCheck, before: LinkVerdict | None, run: _LinkRun
) -> tuple[LinkMemory | None, LinkVerdict]:
    """Memory and verdict after a look; a failure that does not count leaves both, and is no better than unreachable."""
    if look.answer in FAILURES and look.url not in run.told:
        return link.memory, LinkVerdict.GONE if before is LinkVerdict.GONE else LinkVerdict.UNREACHABLE
    memory = update_link_memory(link.memory, look, run.now_ns)
    return memory, verdict_of(memory, run.rules)
