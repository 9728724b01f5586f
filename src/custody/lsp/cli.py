"""The command ``lsp``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from custody.core.errors import MissingExtra
from custody.terminal.frame import open_command_workspace

if TYPE_CHECKING:
    from pathlib import Path

    from custody.workspace.workspace import CommandResources, Workspace


EXTRA_MODULES = ("attrs", "cattrs", "lsprotocol", "pygls")


@click.command("lsp")
@click.option("--stdio", is_flag=True, expose_value=False, help="Use standard input and output, as it always does.")
@click.pass_context
def lsp_command(ctx: click.Context) -> int:
    """Serve an editor: hovers, lenses and diagnostics.

    Speaks the Language Server Protocol on standard input and output. An editor starts it, once for all its files.
    docs/editors.md has the settings for VS Code, Neovim, Emacs and Helix. It writes into no file.

    \b
    Examples:
      custody lsp
    """
    try:
        from custody.lsp.server import serve_editor
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA_MODULES:
            raise
        raise MissingExtra("pygls", "lsp") from error
    workspace = open_command_workspace(ctx, is_service=True)

    def make(root: Path, resources: CommandResources) -> Workspace:
        from msgspec.structs import replace

        return replace(workspace, folder=root, resources=resources, talk=lambda _: None)

    serve_editor(make, sys.stdin.buffer, sys.stdout.buffer)
    return 0
