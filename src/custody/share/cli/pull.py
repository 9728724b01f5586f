"""``custody pull``."""

import click

from custody.share.cli.push import describe_chain
from custody.share.sync import pull
from custody.share.wire.sharing import PullReport
from custody.terminal.frame import answer, json_option, open_workspace

WHAT = {
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
    return "\n".join(line for chain in report.chains for line in describe_chain(chain, WHAT[chain.outcome]))
