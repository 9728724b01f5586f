"""``custody cite``."""

from types import MappingProxyType

import click

from custody.terminal.command_group import CommandGroup, CommandTable

PARTS: CommandTable = MappingProxyType(
    {
        "add": ("custody.cite.cli.registry", "Register a source, or say more of one that is known."),
        "list": ("custody.cite.cli.registry", "List every source with its id."),
        "show": ("custody.cite.cli.registry", "Show everything about one source."),
        "merge": ("custody.cite.cli.registry", "Say that two ids are one source."),
        "unmerge": ("custody.cite.cli.registry", "Take a merge back."),
        "context": ("custody.cite.cli.context", "Print the sources for an agent's prompt, within a budget of tokens."),
        "near": ("custody.cite.cli.context", "Find sources whose kept texts are nearly copies."),
        "search": ("custody.cite.cli.context", "Find sources by what they speak of."),
        "audit": (
            "custody.cite.cli.audit",
            "Check the citations of reports: any Markdown file, in a repository or not.",
        ),
        "convert": ("custody.cite.cli.convert", "Rewrite the markers of a report and its list of sources."),
        "check-links": ("custody.cite.cli.links", "See whether the addresses of sources still answer."),
        "export": ("custody.cite.cli.convert", "Write the sources that a report lists for other programs."),
        "report": ("custody.cite.cli.report", "Show a report with a table of its sources beneath."),
        "contract": ("custody.cite.cli.report", "Print the citation contract, for the instructions of any agent."),
    }
)


@click.group("cite", cls=CommandGroup, parts=PARTS)
def command() -> None:
    """Keep the sources that statements rest on, and check what cites them.

    Every source has a permanent id, S1, S2 and so on, in this store's registry. Reports are checked and rewritten with
    or without one.
    """
