"""The verbs of sharing: push, pull, remote.

May touch the terminal. Asks use cases and renders their reports.
"""

import sys
from pathlib import Path
from types import MappingProxyType

import click

from custody.core.errors import InputError
from custody.share.sync import add_remote, list_remotes, pull, push, remove_remote
from custody.share.wire import PullReport, PushReport, RemoteReport, SharedChain
from custody.terminal.frame import CommandGroup, CommandTable, answer, json_option, open_workspace

PUSH_OUTCOMES = {
    "sent": "{new:,} new record(s) of {records:,} sent{texts}",
    "waits": "{new:,} new record(s) of {records:,} would be sent{texts}",
    "same": "the remote has all {records:,} record(s)",
    "refused": "REFUSED: what the remote has is not an earlier state of it; nothing was sent",
}


@click.command("push")
@click.argument("name", required=False)
@click.option("--with-text", is_flag=True, help="Share texts too: prompts, files, commands and what they printed.")
@click.option("--dry-run", is_flag=True, help="Say what would be sent, and send nothing.")
@json_option
@click.pass_context
def push_command(ctx: click.Context, name: str | None, *, with_text: bool, dry_run: bool, as_json: bool) -> int:
    """Share what was recorded here with a git remote or a service.

    NAME is a service (see 'custody remote') or a git remote; without it the remote that the branch follows, else
    'origin'. A git remote gets one reference, refs/custody/STORE, which a plain clone does not fetch. Texts stay here
    unless --with-text is given: others learn who wrote which line when and why we think so, not what was said.

    Only what is new is sent. Pushing without --with-text after a push with it takes the texts out of the reference.
    Exit status: 0 sent, 1 refused because the remote holds another chain under our name.

    \b
    Examples:
      custody push
      custody push upstream --dry-run
      custody push --with-text
    """
    report = push(open_workspace(ctx), name, texts=with_text, dry_run=dry_run)
    return answer(report, render_push(report), as_json=as_json)


def render_push(report: PushReport) -> str:
    """The report for people."""
    if not report.chains:
        return "nothing has been recorded here yet"
    return "\n".join(line for chain in report.chains for line in describe_chain(chain, PUSH_OUTCOMES[chain.outcome]))


def describe_chain(chain: SharedChain, words: str) -> list[str]:
    """What is wrong with a chain, then what became of it; ``words`` say that with numbers to fill in."""
    texts = ", with their texts" if chain.texts else ", without texts"
    what = words.format(new=chain.new, records=chain.records, texts=texts)
    return [*(f"{finding.code}  {finding.what}" for finding in chain.findings), f"chain {chain.store}: {what}"]


PULL_OUTCOMES = {
    "taken": "{new:,} new record(s) of {records:,}{texts}",
    "waits": "{new:,} new record(s) would be taken{texts}",
    "same": "nothing new, {records:,} record(s)",
    "own": "our own, which is never taken from elsewhere",
    "behind": "the remote has fewer records than the {records:,} that are here",
    "refused": "REFUSED, and nothing of it was taken",
}


@click.command("pull")
@click.argument("name", required=False)
@click.option("--with-text", is_flag=True, help="Of a service, take texts too; the token must be good for them.")
@click.option("--dry-run", is_flag=True, help="Check and say what would be taken, and take nothing.")
@json_option
@click.pass_context
def pull_command(ctx: click.Context, name: str | None, *, with_text: bool, dry_run: bool, as_json: bool) -> int:
    """Take over what others recorded and share through a git remote or a service.

    NAME is as for 'custody push'. Every chain is checked before anything of it is kept: one that does not verify, or
    that contradicts what is here, is named and left out whole. Pulling twice changes nothing. Chains come without their
    texts unless their owner shared them; 'custody blame' answers the same.

    Exit status: 0 taken, 1 some chain was refused.

    \b
    Examples:
      custody pull
      custody pull upstream --dry-run
      custody pull --json
    """
    report = pull(open_workspace(ctx), name, texts=with_text, dry_run=dry_run)
    return answer(report, render_pull(report), as_json=as_json)


def render_pull(report: PullReport) -> str:
    """The report for people."""
    if not report.chains:
        return f"'{report.remote}' has no evidence to take"
    return "\n".join(line for chain in report.chains for line in describe_chain(chain, PULL_OUTCOMES[chain.outcome]))


PARTS: CommandTable = MappingProxyType(
    {
        "add": ("custody.share.cli:add_remote_command", "Name a service, and keep the token for it."),
        "list": ("custody.share.cli:list_remotes_command", "List the services that you named."),
        "remove": ("custody.share.cli:remove_remote_command", "Forget a service and its token."),
    }
)


@click.group("remote", cls=CommandGroup, parts=PARTS)
def remote_command() -> None:
    """Name the services to push to and to pull from.

    They are yours, not the repository's: names, addresses and tokens are kept in your own configuration folder, in a
    file that only you may read. A git remote needs no naming here: 'custody push' knows those of the repository.
    """


TOKEN_BYTES_MAX = 4096


@click.command("add")
@click.argument("name")
@click.argument("url")
@click.option("--token-file", metavar="FILE", help="Read the token from FILE, or from stdin with '-'.")
@json_option
def add_remote_command(name: str, url: str, *, token_file: str | None, as_json: bool) -> int:
    """Name a service, and keep the token for it.

    URL is an https address (or http on this machine). The token is read from --token-file; without one the service is
    asked with CUSTODY_TOKEN of the environment. Adding a name again replaces its address and token.

    \b
    Examples:
      custody remote add team https://custody.example.org --token-file token.txt
      pass custody/team | custody remote add team https://custody.example.org --token-file -
    """
    report = add_remote(name, url, None if token_file is None else _token(token_file))
    return answer(report, _render_remotes(report), as_json=as_json)


@click.command("list")
@json_option
def list_remotes_command(*, as_json: bool) -> int:
    """List the services that you named.

    \b
    Examples:
      custody remote list
    """
    report = list_remotes()
    return answer(report, _render_remotes(report), as_json=as_json)


@click.command("remove")
@click.argument("name")
@json_option
def remove_remote_command(name: str, *, as_json: bool) -> int:
    """Forget a service and its token.

    \b
    Examples:
      custody remote remove team
    """
    report = remove_remote(name)
    return answer(report, _render_remotes(report), as_json=as_json)


def _token(file: str) -> str:
    try:
        if file == "-":
            data = sys.stdin.buffer.read(TOKEN_BYTES_MAX + 1)
        else:
            with Path(file).open("rb") as opened:
                data = opened.read(TOKEN_BYTES_MAX + 1)
    except OSError as error:
        raise InputError(f"cannot read '{file}': {error.strerror}", hint="name the file with the token") from error
    words = data.decode("ascii", "replace").split()
    if len(words) != 1 or len(data) > TOKEN_BYTES_MAX:
        raise InputError(f"'{file}' holds no token", hint="it should hold one word and nothing else")
    return words[0]


def _render_remotes(report: RemoteReport) -> str:
    lines = [f"{remote.name}  {remote.url}" + ("" if remote.token else "  (no token)") for remote in report.remotes]
    return "\n".join(lines or ["no service is named"])
