"""The verbs of sharing: push, pull, share, remote.

May touch the terminal. Runs use cases and renders their reports.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from custody.core.errors import InputError
from custody.core.plural import count_noun
from custody.terminal.frame import (
    CommandGroup,
    CommandTable,
    current_screen,
    json_option,
    open_command_workspace,
    print_command_report,
)
from custody.terminal.screen import Screen, TextLine, escape_controls

if TYPE_CHECKING:
    from custody.share.wire import RemoteReport, SharedChain, ShareReport, SyncReport, VisibleChain


PUSH_OUTCOMES = {
    "sent": "sent {new} ({records} in total), {texts}",
    "waits": "would send {new} ({records} in total), {texts}",
    "same": "up to date ({records})",
    "refused": "REFUSED: the remote has a different history of this chain; nothing was sent",
}
PULL_OUTCOMES = {
    "taken": "pulled {new} ({records} in total), {texts}",
    "waits": "would pull {new}, {texts}",
    "same": "up to date ({records})",
    "own": "written by this store, not pulled",
    "behind": "not pulled: the remote has fewer records than this store ({records})",
    "refused": "REFUSED: nothing was pulled",
}


@click.command("push")
@click.argument("name", required=False)
@click.option("--with-text", is_flag=True, help="Share texts too: prompts, files, commands and their output.")
@click.option("--dry-run", is_flag=True, help="Show what would be sent; send nothing.")
@json_option
@click.pass_context
def push_command(ctx: click.Context, name: str | None, *, with_text: bool, dry_run: bool, as_json: bool) -> int:
    """Send records to a git remote or a service.

    NAME is a service (see 'custody remote') or a git remote. The default is the remote that the branch follows, else
    'origin'. A git remote gets one reference, refs/custody/STORE. A plain clone does not fetch it.

    Texts are not shared without --with-text: others see who wrote each line, when, and the evidence. A push without
    --with-text removes the texts that an earlier push shared. Only new records are sent.

    Exit status: 0 sent, 1 refused because the remote has a different chain under this name.

    \b
    Examples:
      custody push
      custody push upstream --dry-run
      custody push --with-text
    """
    from custody.share.sync import push_chains

    report = push_chains(open_command_workspace(ctx), name, texts=with_text, dry_run=dry_run)
    return print_command_report(
        report, _render_sync(report, PUSH_OUTCOMES, "nothing has been recorded here yet"), as_json=as_json
    )


@click.command("pull")
@click.argument("name", required=False)
@click.option("--with-text", is_flag=True, help="Pull texts too; for services, with a token that allows it.")
@click.option("--dry-run", is_flag=True, help="Check the chains and show what would be pulled; store nothing.")
@click.option("--no-countersign", is_flag=True, help="Do not tell others at the remote which heads were seen.")
@click.option("--accept", "accepted", metavar="STORE", multiple=True, help="Accept what the remote has of STORE now.")
@json_option
@click.pass_context
def pull_command(
    ctx: click.Context,
    /,
    name: str | None,
    *,
    accepted: tuple[str, ...],
    as_json: bool,
    **flags: bool,
) -> int:
    """Fetch records from a git remote or a service.

    NAME is as for 'custody push'. Every chain is checked before anything of it is stored. A chain that does not verify,
    or that contradicts stored records, is refused whole. Pulling twice changes nothing. Chains come without texts
    unless their owner shared them; 'custody blame' gives the same answer either way.

    The heads that were seen are countersigned at the remote. A chain that does not extend a head that this clone or
    another one saw there was rolled back, forked or rewritten: it is refused too. If its owner confirms that this is
    right, such as after the remote was restored from a backup, pass --accept with its store id.

    Exit status: 0 pulled, 1 a chain was refused.

    \b
    Examples:
      custody pull
      custody pull upstream --dry-run
      custody pull --json
    """
    from custody.share.sync import pull_chains
    from custody.share.witness import WitnessOptions, check_store_id

    options = WitnessOptions(not flags["no_countersign"], frozenset(map(check_store_id, accepted)))
    workspace = open_command_workspace(ctx)
    report = pull_chains(workspace, name, texts=flags["with_text"], dry_run=flags["dry_run"], witness=options)
    return print_command_report(
        report, _render_sync(report, PULL_OUTCOMES, f"nothing to pull from '{report.remote}'"), as_json=as_json
    )


def _render_sync(report: SyncReport, outcomes: Mapping[str, str], empty: str) -> str:
    """Return the report as text; ``empty`` if it has no chains."""
    from custody.share.wire import PushReport

    lines = [line for chain in report.chains for line in _describe_shared_chain(chain, outcomes[chain.outcome])]
    destination = [f"To {report.remote}:"] if isinstance(report, PushReport) else []
    return "\n".join((*destination, *lines)) if lines else empty


def _describe_shared_chain(chain: SharedChain, template: str) -> list[str]:
    """Return the problems of a chain, then its outcome as ``template`` words it."""
    outcome = template.format(
        new=count_noun(chain.new, "new record"),
        records=count_noun(chain.records, "record"),
        texts="with texts" if chain.texts else "without texts",
    )
    findings = (f"{finding.code}  {finding.what}" for finding in chain.findings)
    prompts = [f"  with {count_noun(chain.prompts, 'excerpt')} of prompts"] if chain.prompts else []
    return [*findings, f"chain {chain.store}: {outcome}", *prompts, *(f"  {note}" for note in chain.notes)]


EXCERPTS_SHOWN_MAX = 10


@click.command("share")
@click.argument("name", required=False)
@click.option("--show", is_flag=True, help="Show what others can see; nothing is sent or fetched.")
@json_option
@click.pass_context
def share_command(ctx: click.Context, name: str | None, *, show: bool, as_json: bool) -> int:
    """Show what others can see of your records at a remote.

    NAME is as for 'custody push'. Lists what the next push shares, in full or without texts, the excerpts of prompts,
    and what the remote had at the last push or pull. Opens no connection.

    Excerpts are shared only if custody.toml of the base branch, as last fetched, sets review.publish_prompts.

    \b
    Examples:
      custody share --show
      custody share --show upstream --json
    """
    if not show:
        raise InputError("nothing to do", hint="'custody share --show' shows what others can see; 'custody push' sends")
    from custody.share.visibility import report_visibility

    workspace = open_command_workspace(ctx)
    report = report_visibility(workspace, name)
    return print_command_report(report, _render_visibility(report, current_screen(workspace)), as_json=as_json)


def _render_visibility(report: ShareReport, screen: Screen) -> Iterator[TextLine]:
    """Yield what others can see, a block for each chain."""
    if not report.chains:
        yield f"nothing to see at {report.remote}: nothing has been recorded here yet"
        return
    for chain in report.chains:
        yield f"chain {chain.store}: what others see at {report.remote} after 'custody push'"
        yield f"  in full        {_describe_kinds(chain.in_full)}"
        yield f"  without texts  {_describe_kinds(chain.without_texts)}"
        yield f"  prompts        {_describe_publication(report, chain)}"
        for excerpt in chain.prompts[:EXCERPTS_SHOWN_MAX]:
            text = f"{excerpt.session[:8]}  “{excerpt.text}”"
            yield f"    {screen.cut(escape_controls(text), screen.columns - 4) if screen.is_terminal else text}"
        rest = chain.prompts_total - min(len(chain.prompts), EXCERPTS_SHOWN_MAX)
        if rest:
            yield f"    {count_noun(rest, 'more excerpt')} (--json lists them)"
        yield f"  there now      {_describe_remote_chain(report, chain)}"


def _describe_kinds(kinds: Mapping[str, int]) -> str:
    """Return the number of records, and of each kind, most first."""
    ranked = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    names = ", ".join(f"{kind} {count:,}" for kind, count in ranked)
    return f"{count_noun(sum(kinds.values()), 'record')}{f': {names}' if names else ''}"


def _describe_publication(report: ShareReport, chain: VisibleChain) -> str:
    if not report.publish_prompts:
        return f"not shared: {report.why}"
    return f"{count_noun(chain.prompts_total, 'excerpt')}, since {report.base} sets review.publish_prompts"


def _describe_remote_chain(report: ShareReport, chain: VisibleChain) -> str:
    there = chain.there
    if there is None:
        return "unknown" if report.transport == "service" else "nothing, as of the last push or pull"
    texts = "with texts" if there.texts else "without texts"
    prompts = f", {count_noun(there.prompts, 'excerpt')} of prompts" if there.prompts else ""
    return f"{count_noun(there.records, 'record')} {texts}{prompts}, as of the last push or pull"


PARTS: CommandTable = MappingProxyType(
    {
        "add": ("custody.share.cli:add_remote_command", "Add a service and store its token."),
        "list": ("custody.share.cli:list_remotes_command", "List the services you added."),
        "remove": ("custody.share.cli:remove_remote_command", "Remove a service and its token."),
    }
)


@click.group("remote", cls=CommandGroup, parts=PARTS)
def remote_command() -> None:
    """Manage the services to push to and pull from.

    Services belong to you, not to the repository. Names, URLs and tokens are stored in your own configuration folder,
    in a file that only you can read. Git remotes need no entry here: 'custody push' knows those of the repository.

    \b
    Example:
      custody remote add team https://custody.example.org
    """


TOKEN_BYTES_MAX = 4096


@click.command("add")
@click.argument("name")
@click.argument("url")
@click.option("--token-file", metavar="FILE", help="Read the token from FILE, or from stdin with '-'.")
@json_option
def add_remote_command(name: str, url: str, *, token_file: str | None, as_json: bool) -> int:
    """Add a service and store its token.

    URL is an https URL (or http on this machine). The token is read from --token-file; without it the token in the
    environment variable CUSTODY_TOKEN is used. Adding a name again replaces its URL and token.

    \b
    Examples:
      custody remote add team https://custody.example.org --token-file token.txt
      custody remote add team https://team.example.org --token-file - < token.txt
    """
    from custody.share.remote import add_remote

    report = add_remote(name, url, None if token_file is None else _read_remote_token(token_file))
    return print_command_report(report, _render_remotes(report), as_json=as_json)


@click.command("list")
@json_option
def list_remotes_command(*, as_json: bool) -> int:
    """List the services you added.

    \b
    Examples:
      custody remote list
    """
    from custody.share.remote import list_remotes

    report = list_remotes()
    return print_command_report(report, _render_remotes(report), as_json=as_json)


@click.command("remove")
@click.argument("name")
@json_option
def remove_remote_command(name: str, *, as_json: bool) -> int:
    """Remove a service and its token.

    \b
    Examples:
      custody remote remove team
    """
    from custody.share.remote import remove_remote

    report = remove_remote(name)
    return print_command_report(report, _render_remotes(report), as_json=as_json)


def _read_remote_token(file: str) -> str:
    try:
        if file == "-":
            data = sys.stdin.buffer.read(TOKEN_BYTES_MAX + 1)
        else:
            with Path(file).open("rb") as stream:
                data = stream.read(TOKEN_BYTES_MAX + 1)
    except OSError as error:
        raise InputError(f"cannot read '{file}': {error.strerror}", hint="pass the file with the token") from error
    words = data.decode("ascii", "replace").split()
    if len(words) != 1 or len(data) > TOKEN_BYTES_MAX:
        raise InputError(f"no token in '{file}'", hint="the file must hold one word and nothing else")
    return words[0]


def _render_remotes(report: RemoteReport) -> str:
    lines = [f"{remote.name}  {remote.url}" + ("" if remote.token else "  (no token)") for remote in report.remotes]
    return "\n".join(lines or ["no services added"])
