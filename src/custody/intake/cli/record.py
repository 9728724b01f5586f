"""``custody record``."""

import sys

import click

from custody.core.errors import CustodyError
from custody.terminal.frame import open_command_workspace, print_terminal_notice


@click.command("record")
@click.option("--agent", required=True, help="The agent of the event: one of 'custody init', or any other name.")
@click.option("--event", help="The name of the event, if the JSON has none.")
@click.option("--receipt", is_flag=True, help="Print the event's id once it is durable.")
@click.pass_context
def record_command(ctx: click.Context, *, agent: str, event: str | None, receipt: bool) -> int:
    """Record one event of an agent.

    Reads JSON from standard input: a hook event of an agent, or a generic event (docs/reference/schemas/event.json).
    Missing fields of a generic event (agent, time, id, HEAD, work tree) are filled in. Secrets are removed before
    anything is written. Like the hook of 'custody init', it prints nothing and never fails; 'custody doctor' shows
    events that could not be recorded. An invalid generic event is not recorded, and standard error has the reason.
    Outside a repository it does nothing.

    \b
    Examples:
      custody record --agent claude-code < event.json
      echo '{"custody": 1, "kind": "prompt", "session": "s1", "text": "hello"}' |
        custody record --agent mine --receipt
    """
    from custody.intake.record import record_agent_hook_event

    if sys.stdin is None:
        print_terminal_notice("not recorded: standard input is closed")
        return 0
    arguments = ["--agent", agent, *(["--event", event] if event else [])]
    try:
        record_agent_hook_event(
            open_command_workspace(ctx), arguments, sys.stdin.fileno(), click.echo if receipt else lambda _name: None
        )
    except CustodyError as error:
        print_terminal_notice(f"not recorded: {error.message}")
    return 0
