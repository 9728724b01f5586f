"""``custody github``."""

from types import MappingProxyType

import click

from custody.terminal.command_group import CommandGroup, CommandTable

PARTS: CommandTable = MappingProxyType(
    {
        "connect": (
            "custody.server.cli.github_commands:connect_command",
            "Say which project a repository's evidence belongs to.",
        ),
        "disconnect": (
            "custody.server.cli.github_commands:disconnect_command",
            "Have deliveries about a repository do nothing.",
        ),
        "list": (
            "custody.server.cli.github_commands:list_repositories_command",
            "List the repositories that are connected.",
        ),
        "backfill": (
            "custody.server.cli.github_commands:backfill_command",
            "Take over the pull requests that a repository had before.",
        ),
    }
)


@click.group("github", cls=CommandGroup, parts=PARTS)
def github_command() -> None:
    """Judge pull requests on GitHub, and learn from what becomes of them.

    GitHub tells the service of pull requests by a webhook; 'custody worker' judges them and writes a check run.
    docs/github.md says how to set this up, and which action does without a server.
    """
