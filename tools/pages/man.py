"""The manual pages, from the commands themselves: one for each verb and help topic, ``custody``, and git's name."""

import inspect
import re
from collections.abc import Iterator

import click

from tools.pages.cli import command_context, listed_commands, look_up_command

SECTION = 1
TOPIC_SECTION = 7
_KEEP = "\b"


def man_pages() -> dict[str, str]:
    """Return every manual page by its file name; ``git custody --help`` opens ``git-custody.1``."""
    from custody import __version__
    from custody.cli.help import TOPICS
    from custody.cli.main import cli
    from custody.cli.verb_table import SECTIONS

    top = command_context(cli, "custody")
    one_line = {verb: text for verbs in SECTIONS.values() for verb, text in verbs.items()}
    pages = {
        f"custody-{verb}.{SECTION}": man_page(look_up_command(cli, top, verb), top, verb, one_line[verb], __version__)
        for verb in listed_commands(cli, top)
    }
    overview = man_page(cli, None, "custody", "git blame for AI-written code", __version__)
    for title, verbs in SECTIONS.items():
        overview += f".SH {roff(title.upper())}\n"
        overview += "".join(f".TP\n.BR custody-{verb} ({SECTION})\n{roff(text)}\n" for verb, text in verbs.items())
    overview += ".SH TOPICS\n"
    overview += "".join(f".TP\n.BR custody-{topic} ({TOPIC_SECTION})\n{roff(text)}\n" for topic, text in TOPICS.items())
    pages[f"custody.{SECTION}"] = overview
    pages[f"git-custody.{SECTION}"] = f".so man{SECTION}/custody.{SECTION}\n"
    return pages


def topic_pages() -> dict[str, str]:
    """Return the manual page of every help topic by its file name."""
    from custody import __version__
    from custody.cli.help import TOPICS, read_help_topic

    pages = {}
    for topic, summary in TOPICS.items():
        _, _, text = read_help_topic(topic).partition("\n\n")
        title = f"custody-{topic}"
        lines = (
            f'.TH "{title.upper()}" "{TOPIC_SECTION}" "" "custody {__version__}" "custody manual"',
            ".SH NAME",
            f"{title} \\- {roff(summary.rstrip('.'))}",
            ".SH DESCRIPTION",
            ".nf",
            *(roff(line) for line in text.splitlines()),
            ".fi",
        )
        pages[f"{title}.{TOPIC_SECTION}"] = "\n".join(lines) + "\n"
    return pages


def man_page(command: click.Command, parent: click.Context | None, name: str, summary: str, version: str) -> str:
    """Return the page of one command, with its parts where it is a group."""
    title = name if parent is None else f"custody-{name}"
    lines = [
        f'.TH "{title.upper()}" "{SECTION}" "" "custody {version}" "custody manual"',
        ".SH NAME",
        f"{title} \\- {roff(summary.rstrip('.'))}",
        *_command_lines(command, command_context(command, name, parent), "SH"),
    ]
    return "\n".join(lines) + "\n"


def _command_lines(command: click.Command, context: click.Context, heading: str) -> Iterator[str]:
    usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
    yield f".{heading} {'SYNOPSIS' if heading == 'SH' else roff(context.command_path)}"
    yield f".B {roff(usage)}"
    if heading == "SH":
        yield ".SH DESCRIPTION"
    yield from _prose_lines(command.help or "")
    yield from _option_lines(command, context, heading)
    yield from _prose_lines(command.epilog or "")
    if isinstance(command, click.Group) and context.parent is not None:
        yield ".SH COMMANDS"
        for part in listed_commands(command, context):
            inner = look_up_command(command, context, part)
            yield from _command_lines(inner, command_context(inner, part, context), "SS")


def _option_lines(command: click.Command, context: click.Context, heading: str) -> Iterator[str]:
    found = (param.get_help_record(context) for param in command.get_params(context))
    records = [record for record in found if record and record[1]]
    if records and heading == "SH":
        yield ".SH OPTIONS"
    for names, text in records:
        yield from (".TP", f".B {roff(names)}", roff(" ".join(text.split())))


def _prose_lines(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text.partition("\f")[0])):
        mark, _, block = paragraph.partition("\n")
        if mark.strip(" ") == _KEEP:
            yield from (".PP", ".nf", *(roff(line) for line in inspect.cleandoc("\n" + block).splitlines()), ".fi")
        elif paragraph.strip():
            yield from (".PP", roff(" ".join(paragraph.split())))


def roff(text: str) -> str:
    r"""Return ``text`` as roff shows it unchanged.

    >>> print(roff("a\\b --json …"), roff(".git is not 'x'"), roff("'quoted'"))
    a\eb \-\-json \[u2026] \&.git is not 'x' \&'quoted'
    """
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    escaped = "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in plain)
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
