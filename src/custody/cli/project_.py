"""``custody project``."""

from types import MappingProxyType

import click

from custody.cli.parts import Parts, Table

PARTS: Table = MappingProxyType(
    {
        "create": ("project_parts_", "Make a project with a store of its own."),
        "list": ("project_parts_", "List the projects."),
        "retain": ("project_parts_", "Say for how long the texts of conversations are kept."),
        "reads": ("project_parts_", "Say who read texts of conversations."),
        "remove": ("project_parts_", "Remove a project with everything that it holds."),
        "init-database": ("project_parts_", "Prepare a team database for projects and for a service."),
    }
)


@click.group("project", cls=Parts, parts=PARTS)
def command() -> None:
    """Keep projects apart, each with its own store, tokens and retention.

    Nothing of one project can be seen from another. In PostgreSQL each has a schema of its own, and row-level security
    on top. docs/team.md says how a team sets this up.
    """
