"""``custody project``."""

from types import MappingProxyType

import click

from custody.terminal.command_group import CommandGroup, CommandTable

PARTS: CommandTable = MappingProxyType(
    {
        "create": ("custody.server.cli.project_commands", "Make a project with a store of its own."),
        "list": ("custody.server.cli.project_commands", "List the projects."),
        "retain": ("custody.server.cli.project_commands", "Say for how long the texts of conversations are kept."),
        "reads": ("custody.server.cli.project_commands", "Say who read texts of conversations."),
        "remove": ("custody.server.cli.project_commands", "Remove a project with everything that it holds."),
        "init-database": (
            "custody.server.cli.project_commands",
            "Prepare a team database for projects and for a service.",
        ),
    }
)


@click.group("project", cls=CommandGroup, parts=PARTS)
def command() -> None:
    """Keep projects apart, each with its own store, tokens and retention.

    Nothing of one project can be seen from another. In PostgreSQL each has a schema of its own, and row-level security
    on top. docs/team.md says how a team sets this up.
    """
