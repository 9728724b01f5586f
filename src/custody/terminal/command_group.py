"""A verb that has parts, each imported when it is asked for."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click

CommandTable = Mapping[str, tuple[str, str]]
"""The parts by name: each with its function as ``module:name``, and its one-line help. The overview imports none."""


class CommandGroup(click.Group):
    """A group that knows its parts from a table."""

    def __init__(self, *args: Any, parts: CommandTable = MappingProxyType({}), **more: Any) -> None:
        super().__init__(*args, **more)
        self._parts = parts

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every part."""
        return list(self._parts)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one part."""
        if cmd_name not in self._parts:
            return None
        module, _, name = self._parts[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The overview, without importing any part."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in self._parts.items()])
