"""``custody help``: the list of commands and topics, the help of a command, or a topic."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib.resources import files
from types import MappingProxyType

import click

from custody.cli.verb_table import SECTIONS
from custody.core.errors import InputError
from custody.terminal.frame import print_answer
from custody.terminal.screen import StyledText, TextLine

TOPICS: Mapping[str, str] = MappingProxyType(
    {
        "certainty": "Read how certain an attribution is.",
        "config": "Change the rules that decide.",
        "environment": "Set options by environment variables.",
        "exit": "Use exit statuses in scripts.",
        "json": "Read results in scripts.",
        "privacy": "Know what is stored and what leaves your machine.",
        "revisions": "Name files, lines, revisions and changes.",
    }
)
"""Every topic with its first line, so that the list reads no file. A test compares it with the files."""


@click.command("help")
@click.argument("names", nargs=-1, metavar="[COMMAND|TOPIC]...")
@click.pass_context
def help_command(ctx: click.Context, names: tuple[str, ...]) -> int:
    """Show help for a command or a topic.

    Without a name, lists all commands and topics.

    \b
    Examples:
      custody help
      custody help certainty
      custody help trust approve
    """
    if not names:
        print_answer(list(_render_help_list()))
    elif names[0] in TOPICS and len(names) == 1:
        print_answer(read_help_topic(names[0]).splitlines())
    else:
        click.echo(find_help_context(ctx.find_root(), names).get_help())
    return 0


def read_help_topic(topic: str) -> str:
    """Return the text of a topic: its summary, then one screen."""
    return files("custody.cli").joinpath("help_topics", f"{topic}.txt").read_text("utf-8").rstrip("\n")


def find_help_context(root: click.Context, names: Sequence[str]) -> click.Context:
    """Return the context of the command that ``names`` call; an ``InputError`` that suggests the nearest if none."""
    context = root
    for name in names:
        group = context.command
        known = group.list_commands(context) if isinstance(group, click.Group) else []
        command = group.get_command(context, name) if isinstance(group, click.Group) else None
        if command is None:
            raise _unknown_name_error(context, name, [*known, *(TOPICS if context is root else ())])
        context = click.Context(command, info_name=name, parent=context)
    return context


def _unknown_name_error(context: click.Context, name: str, known: Sequence[str]) -> InputError:
    nearest = get_close_matches(name, known, n=1)
    before = context.command_path.removeprefix("custody").lstrip()
    wrong = f"command '{before} {name}'" if before else f"command or topic '{name}'"
    return InputError(
        f"unknown {wrong}",
        hint=f"did you mean '{nearest[0]}'?" if nearest else f"run '{f'custody help {before}'.rstrip()}'",
    )


def _render_help_list() -> Iterator[TextLine]:
    parts = {**SECTIONS, "Topics": TOPICS}
    width = max(len(name) for names in parts.values() for name in names)
    for title, names in parts.items():
        yield StyledText(f"{title}:", "strong")
        yield from (f"  {name:<{width}}  {text}" for name, text in names.items())
        if title != "Topics":
            yield ""
