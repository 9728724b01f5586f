"""``custody github``."""

from types import MappingProxyType

import click

from custody.cli.parts import Parts, Table

PARTS: Table = MappingProxyType(
    {
        "connect": ("github_parts_", "Say which project a repository's evidence belongs to."),
        "disconnect": ("github_parts_", "Have deliveries about a repository do nothing."),
        "list": ("github_parts_", "List the repositories that are connected."),
        "backfill": ("github_parts_", "Take over the pull requests that a repository had before."),
    }
)


@click.group("github", cls=Parts, parts=PARTS)
def command() -> None:
    """Judge pull requests on GitHub, and learn from what becomes of them.

    GitHub tells the service of pull requests by a webhook; 'custody worker' judges them and writes a check run.
    docs/github.md says how to set this up, and which action does without a server.
    """
