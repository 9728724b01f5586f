"""``custody record``."""

import sys

import click

from custody.core.errors import CustodyError
from custody.intake.record import record_event
from custody.terminal.frame import open_workspace, say


@click.command("record")
@click.option("--agent", required=True, help="Whose event it is: one of those of 'custody init', or any other name.")
@click.option("--event", help="Which event, when the JSON does not say.")
@click.option("--receipt", is_flag=True, help="Print the event's id once it is durable.")
@click.pass_context
def record_command(ctx: click.Context, *, agent: str, event: str | None, receipt: bool) -> int:
    """Record one event of an agent.

    Reads JSON from standard input: an agent's own hook event, or a generic event (docs/reference/schemas/event.json;
    agent, time, id, HEAD and work tree are filled in where they are missing). Secrets are taken out before anything is
    written. Like the hook that 'custody init' installs, it prints nothing, never fails, and counts what it could not
    keep; 'custody doctor' shows the count. A generic event that is not as it should be is not kept, and standard error
    says why. Outside a repository it does nothing.

    \b
    Examples:
      custody record --agent claude-code < event.json
      echo '{"custody":1,"kind":"prompt","session":"s1","text":"hello"}' | custody record --agent mine --receipt
    """
    if sys.stdin is None:
        say("not recorded: standard input is closed")
        return 0
    arguments = ["--agent", agent, *(["--event", event] if event else [])]
    try:
        record_event(open_workspace(ctx), arguments, sys.stdin.fileno(), click.echo if receipt else lambda _name: None)
    except CustodyError as error:
        say(f"not recorded: {error.message}")
    return 0
