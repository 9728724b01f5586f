"""``custody token``."""

from types import MappingProxyType

import click

from custody.terminal.command_group import CommandGroup, CommandTable

PARTS: CommandTable = MappingProxyType(
    {
        "create": ("custody.server.cli.token_commands", "Make a token for one project and show it, once."),
        "list": ("custody.server.cli.token_commands", "List tokens, without what they open with."),
        "revoke": ("custody.server.cli.token_commands", "Have a token open nothing from now on."),
    }
)


@click.group("token", cls=CommandGroup, parts=PARTS)
def command() -> None:
    """Make, list and revoke the tokens that open a service.

    A token opens one project, for what its scopes say, until it expires. Only a hash of it is kept.
    """
