"""``custody remote``."""

from types import MappingProxyType

import click

from custody.terminal.command_group import CommandGroup, CommandTable

PARTS: CommandTable = MappingProxyType(
    {
        "add": ("custody.share.cli.remote_commands:add_remote_command", "Name a service, and keep the token for it."),
        "list": ("custody.share.cli.remote_commands:list_remotes_command", "List the services that you named."),
        "remove": ("custody.share.cli.remote_commands:remove_remote_command", "Forget a service and its token."),
    }
)


@click.group("remote", cls=CommandGroup, parts=PARTS)
def remote_command() -> None:
    """Name the services to push to and to pull from.

    They are yours, not the repository's: names, addresses and tokens are kept in your own configuration folder, in a
    file that only you may read. A git remote needs no naming here: 'custody push' knows those of the repository.
    """
