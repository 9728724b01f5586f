"""``custody github``."""

from types import MappingProxyType

import click

from custody.terminal.command_group import CommandGroup, CommandTable

PARTS: CommandTable = MappingProxyType(
    {
        "connect": ("custody.server.cli.github_commands", "Say which project a repository's evidence belongs to."),
        "disconnect": ("custody.server.cli.github_commands", "Have deliveries about a repository do nothing."),
        "list": ("custody.server.cli.github_commands", "List the repositories that are connected."),
        "backfill": ("custody.server.cli.github_commands", "Take over the pull requests that a repository had before."),
    }
)


@click.group("github", cls=CommandGroup, parts=PARTS)
def command() -> None:
    """Judge pull requests on GitHub, and learn from what becomes of them.

    GitHub tells the service of pull requests by a webhook; 'custody worker' judges them and writes a check run.
    docs/github.md says how to set this up, and which action does without a server.
    """
