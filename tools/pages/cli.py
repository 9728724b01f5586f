"""The page of the command line, from the commands themselves."""

import inspect
import re
from collections.abc import Collection, Iterator, Mapping

import click

from tools import markdown
from tools.problems import Undocumented

Sections = Mapping[str, Collection[str]]
"""Names of commands under the titles that the overview shows."""
_KEEP = "\b"
"""The mark click uses for a paragraph whose lines must not be joined."""


def cli_page() -> str:
    """``cli.md``."""
    from custody.cli.main import cli
    from custody.cli.verb_table import SECTIONS

    return page(cli, "custody", SECTIONS)


def page(group: click.Group, name: str, sections: Sections) -> str:
    """Return the page of ``group`` and its commands, in the order of ``sections``; empty sections are left out."""
    context = command_context(group, name)
    placed, listed = (
        sorted(name for names in sections.values() for name in names),
        sorted(listed_commands(group, context)),
    )
    if placed != listed:
        raise Undocumented(f"the sections of '{name}' hold {placed}, it lists {listed}")
    body = "".join(_section(group, context, title, names) for title, names in sections.items() if names)
    return f"# The command line\n\n{_described(group, context)}{body}"


def _section(group: click.Group, context: click.Context, title: str, names: Collection[str]) -> str:
    return f"\n## {title}\n" + "".join(part for name in names for part in _command(group, context, name, 3))


def _command(group: click.Group, parent: click.Context, name: str, level: int) -> Iterator[str]:
    command = look_up_command(group, parent, name)
    context = command_context(command, name, parent)
    yield f"\n{'#' * level} {context.command_path}\n\n{_described(command, context)}"
    if isinstance(command, click.Group):
        for part in listed_commands(command, context):
            yield from _command(command, context, part, level + 1)


def command_context(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    """Return the context in which a command describes itself."""
    settings = {**command.context_settings, "show_default": True}
    return click.Context(command, info_name=name, parent=parent, **settings)


def listed_commands(group: click.Group, context: click.Context) -> list[str]:
    """Return the names of the commands that a group shows."""
    return [name for name in group.list_commands(context) if not look_up_command(group, context, name).hidden]


def look_up_command(group: click.Group, context: click.Context, name: str) -> click.Command:
    """Return a command that a group lists."""
    command = group.get_command(context, name)
    if command is None:
        raise Undocumented(f"'{context.command_path}' lists '{name}' but has no such command")
    return command


def _described(command: click.Command, context: click.Context) -> str:
    if not command.help:
        raise Undocumented(f"'{context.command_path}' has no help")
    usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
    parts = [_fence(usage), _prose(command.help), _options(command, context), _prose(command.epilog or "")]
    return "\n".join(part for part in parts if part)


def _options(command: click.Command, context: click.Context) -> str:
    params = (param for param in command.get_params(context) if not {*param.opts} & {*context.help_option_names})
    records = (param.get_help_record(context) for param in params)
    rows = [(markdown.code(names), markdown.text(help)) for names, help in filter(None, records) if help]
    return markdown.table(("option", "meaning"), rows) if rows else ""


def _prose(help: str) -> str:
    """Help text as Markdown: paragraphs are joined, those that click keeps as they are become blocks of code."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(help.partition("\f")[0]))
    return "\n".join(_paragraph(paragraph) for paragraph in paragraphs if paragraph.strip())


def _paragraph(paragraph: str) -> str:
    mark, _, kept = paragraph.partition("\n")
    if mark.strip(" ") == _KEEP:
        return _fence(inspect.cleandoc("\n" + kept))
    return markdown.text(" ".join(paragraph.split())) + "\n"


def _fence(block: str) -> str:
    return f"```text\n{block.rstrip()}\n```\n"
