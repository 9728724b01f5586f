"""``custody project``."""

from types import MappingProxyType

import click

from custody.terminal.command_group import CommandGroup, CommandTable

PARTS: CommandTable = MappingProxyType(
    {
        "create": (
            "custody.server.cli.project_commands:create_project_command",
            "Make a project with a store of its own.",
        ),
        "list": ("custody.server.cli.project_commands:list_projects_command", "List the projects."),
        "retain": (
            "custody.server.cli.project_commands:retain_command",
            "Say for how long the texts of conversations are kept.",
        ),
        "reads": ("custody.server.cli.project_commands:reads_command", "Say who read texts of conversations."),
        "remove": (
            "custody.server.cli.project_commands:remove_project_command",
            "Remove a project with everything that it holds.",
        ),
        "init-database": (
            "custody.server.cli.project_commands:init_database_command",
            "Prepare a team database for projects and for a service.",
        ),
    }
)


@click.group("project", cls=CommandGroup, parts=PARTS)
def project_command() -> None:
    """Keep projects apart, each with its own store, tokens and retention.

    Nothing of one project can be seen from another. In PostgreSQL each has a schema of its own, and row-level security
    on top. docs/team.md says how a team sets this up.
    """
