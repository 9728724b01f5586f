"""``custody cite``."""

from types import MappingProxyType

import click

from custody.terminal.frame import CommandGroup, CommandTable

PARTS: CommandTable = MappingProxyType(
    {
        "add": ("custody.cite.cli.registry:add", "Register a source, or say more of one that is known."),
        "list": ("custody.cite.cli.registry:list_", "List every source with its id."),
        "show": ("custody.cite.cli.registry:show", "Show everything about one source."),
        "merge": ("custody.cite.cli.registry:merge", "Say that two ids are one source."),
        "unmerge": ("custody.cite.cli.registry:unmerge", "Take a merge back."),
        "context": (
            "custody.cite.cli.context:context",
            "Print the sources for an agent's prompt, within a budget of tokens.",
        ),
        "near": ("custody.cite.cli.context:find_near_copies", "Find sources whose kept texts are nearly copies."),
        "search": ("custody.cite.cli.context:search", "Find sources by what they speak of."),
        "audit": (
            "custody.cite.cli.documents:audit",
            "Check the citations of reports: any Markdown file, in a repository or not.",
        ),
        "convert": ("custody.cite.cli.documents:convert", "Rewrite the markers of a report and its list of sources."),
        "check-links": ("custody.cite.cli.context:check_links", "See whether the addresses of sources still answer."),
        "export": ("custody.cite.cli.documents:export", "Write the sources that a report lists for other programs."),
        "report": ("custody.cite.cli.documents:report", "Show a report with a table of its sources beneath."),
        "contract": (
            "custody.cite.cli.documents:contract",
            "Print the citation contract, for the instructions of any agent.",
        ),
    }
)


@click.group("cite", cls=CommandGroup, parts=PARTS)
def cite_command() -> None:
    """Keep the sources that statements rest on, and check what cites them.

    Every source has a permanent id, S1, S2 and so on, in this store's registry. Reports are checked and rewritten with
    or without one.
    """
