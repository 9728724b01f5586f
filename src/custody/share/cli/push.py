"""``custody push``."""

import click

from custody.share.sync import push
from custody.share.wire.sharing import PushReport, SharedChain
from custody.terminal.frame import answer, json_option, open_workspace

WHAT = {
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
    return "\n".join(line for chain in report.chains for line in describe_chain(chain, WHAT[chain.outcome]))


def describe_chain(chain: SharedChain, words: str) -> list[str]:
    """What is wrong with a chain, then what became of it; ``words`` say that with numbers to fill in."""
    texts = ", with their texts" if chain.texts else ", without texts"
    what = words.format(new=chain.new, records=chain.records, texts=texts)
    return [*(f"{finding.code}  {finding.what}" for finding in chain.findings), f"chain {chain.store}: {what}"]
