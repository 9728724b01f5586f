"""``custody token``."""

from types import MappingProxyType

import click

from custody.terminal.command_group import CommandGroup, CommandTable

PARTS: CommandTable = MappingProxyType(
    {
        "create": (
            "custody.server.cli.token_commands:create_token_command",
            "Make a token for one project and show it, once.",
        ),
        "list": ("custody.server.cli.token_commands:list_tokens_command", "List tokens, without what they open with."),
        "revoke": ("custody.server.cli.token_commands:revoke_token_command", "Have a token open nothing from now on."),
    }
)


@click.group("token", cls=CommandGroup, parts=PARTS)
def token_command() -> None:
    """Make, list and revoke the tokens that open a service.

    A token opens one project, for what its scopes say, until it expires. Only a hash of it is kept.
    """
