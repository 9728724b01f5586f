"""The command ``mcp``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from custody.core.errors import MissingExtra
from custody.terminal.frame import open_command_workspace

if TYPE_CHECKING:
    from custody.workspace.workspace import CommandResources, Workspace


EXTRA_MODULES = ("anyio", "mcp", "mcp_types", "pydantic")


@click.command("mcp")
@click.pass_context
def mcp_command(ctx: click.Context) -> int:
    """Serve an agent: read-only tools about this repository.

    Speaks the Model Context Protocol on standard input and output. The tools are why, blame, review, next, duplicates
    and sessions; none of them writes. An agent starts it; docs/mcp.md says how, and
    what agents see.

    \b
    Examples:
      custody mcp
      custody -C ~/shop mcp
    """
    try:
        from custody.mcp.server import serve_agent
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA_MODULES:
            raise
        raise MissingExtra("mcp", "mcp") from error
    workspace = open_command_workspace(ctx, is_service=True)
    _ = workspace.repository  # an error is better before an agent waits for tools

    def make(resources: CommandResources) -> Workspace:
        from msgspec.structs import replace

        return replace(workspace, resources=resources, talk=lambda _: None)

    serve_agent(make)
    return 0
