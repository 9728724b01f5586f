"""What the shell completes: files, revisions, sessions, agents, changes and help topics, by the name of an argument.

Only a completing shell imports this. A question that cannot be answered completes nothing, and says nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from types import MappingProxyType

import click
from click.shell_completion import CompletionItem

from custody.core.errors import CustodyError
from custody.core.views import DecisionKind
from custody.terminal.frame import CommandGroup, open_command_workspace

ITEMS_MAX = 200
Complete = Callable[[click.Context, str], Iterable[CompletionItem]]


def complete_files(_ctx: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    """Leave files to the shell, which knows them best."""
    return [CompletionItem(incomplete, type="file")]


def complete_revisions(ctx: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    """Yield HEAD, branches and tags; after ``BASE..`` those for its end."""
    from custody.workspace.revisions import list_revision_names

    base, dots, typed = incomplete.rpartition("..")
    for name in chain(["HEAD"], list_revision_names(open_command_workspace(ctx))):
        if name.startswith(typed):
            yield CompletionItem(f"{base}{dots}{name}")


def complete_sessions(ctx: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    """Yield recorded sessions, the latest first, with their agent."""
    from custody.ledger.sessions import list_session_log

    report = list_session_log(open_command_workspace(ctx), limit=ITEMS_MAX)
    for session in report.sessions:
        if session.session.startswith(incomplete):
            yield CompletionItem(session.session, help=session.agent)


def complete_agents(ctx: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    """Yield the agents that were recorded here."""
    from custody.ledger.sessions import list_session_log

    for row in list_session_log(open_command_workspace(ctx), limit=1).agents:
        if row.agent.startswith(incomplete):
            yield CompletionItem(row.agent)


def complete_help_names(ctx: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    """Yield commands and topics; after a group its commands."""
    from custody.cli.help import TOPICS, find_help_context

    root = ctx.find_root()
    names = ctx.params.get("names") or ()
    context = find_help_context(root, names)
    if isinstance(context.command, click.Group):
        for name in (*context.command.list_commands(context), *(TOPICS if not names else ())):
            if name.startswith(incomplete):
                yield CompletionItem(name)


def complete_decision_words(ctx: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    """Yield agents, then decisions, then revisions, for ``custody trust record``."""
    typed = ctx.params.get("words") or ()
    if not typed:
        return complete_agents(ctx, incomplete)
    if len(typed) == 1:
        return _match_names(DECISIONS, incomplete)
    return complete_revisions(ctx, incomplete)


def complete_imports(ctx: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    """Yield the agents and tools with sessions to import; else files."""
    from custody.capture import TRANSCRIPT_READERS
    from custody.cli.import_ import OTLP, TOOLS

    names = [] if ctx.params.get("paths") else _match_names((*TRANSCRIPT_READERS, *TOOLS, OTLP), incomplete)
    return names or complete_files(ctx, incomplete)


def complete_pages(ctx: click.Context, incomplete: str) -> Iterable[CompletionItem]:
    """Yield the names of pages; else files."""
    return _match_names(PAGES, incomplete) or complete_files(ctx, incomplete)


def _match_names(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


PAGES = ("overview", "blame", "why", "changes", "trust", "sources", "graph", "sessions", "state")
"""What 'custody serve --open' names; the pages themselves are slow to import."""

DECISIONS = tuple(kind.value for kind in DecisionKind if kind is not DecisionKind.RECOVERED)
"""What 'custody trust record' takes; a recovery has a verb of its own."""

COMMAND_COMPLETIONS: Mapping[tuple[str, str], Complete] = MappingProxyType(
    {
        ("record", "words"): complete_decision_words,
        ("import", "paths"): complete_imports,
        ("serve", "page"): complete_pages,
    }
)
"""By the names of a command and of its argument; these come before those for all commands."""

COMPLETIONS: Mapping[str, Complete] = MappingProxyType(
    {
        **dict.fromkeys(("file", "files", "path", "paths", "location"), complete_files),
        **dict.fromkeys(("revision", "change", "changes", "other", "ranges", "history"), complete_revisions),
        "session": complete_sessions,
        "agent": complete_agents,
        "names": complete_help_names,
    }
)
"""By the name of an argument or option; those with a type of their own keep it."""


class CompletedText(click.ParamType[str]):
    """A text for which the shell offers something."""

    name = "text"

    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    def shell_complete(self, ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return what fits so far; nothing where the repository or its store cannot answer."""
        root = ctx.find_root()
        ctx.obj = ctx.obj or (root.params.get("folder") or ".", root.params.get("database"))
        try:
            return [item for item, _ in zip(self._complete(ctx, incomplete), range(ITEMS_MAX), strict=False)]
        except (CustodyError, OSError):
            return []


def add_completion(command: click.Command) -> click.Command:
    """Return the command with completion for its arguments, and for those of its subcommands."""
    for parameter in command.params:
        own = COMMAND_COMPLETIONS.get((command.name or "", parameter.name or ""))
        complete = own or COMPLETIONS.get(parameter.name or "")
        if complete is not None and (own or parameter.type is click.STRING):
            parameter.type = CompletedText(complete)
    if isinstance(command, CommandGroup):
        command.prepare = add_completion
    elif isinstance(command, click.Group):
        for part in command.commands.values():
            add_completion(part)
    return command
