"""``custody cite``."""

from types import MappingProxyType

import click

from custody.terminal.frame import CommandGroup, CommandTable

PARTS: CommandTable = MappingProxyType(
    {
        "add": ("custody.cite.cli.registry:add", "Add or update a source."),
        "list": ("custody.cite.cli.registry:list_", "List every source with its id."),
        "show": ("custody.cite.cli.registry:show", "Show everything about one source."),
        "merge": ("custody.cite.cli.registry:merge", "Merge two ids into one source."),
        "unmerge": ("custody.cite.cli.registry:unmerge", "Undo a merge."),
        "context": (
            "custody.cite.cli.context:context",
            "Print the sources for an agent's prompt, within a token budget.",
        ),
        "near": ("custody.cite.cli.context:find_near_copies", "Find sources with nearly the same text."),
        "search": ("custody.cite.cli.context:search", "Search sources by topic."),
        "audit": (
            "custody.cite.cli.documents:audit",
            "Check the citations of Markdown files, in a repository or not.",
        ),
        "convert": ("custody.cite.cli.documents:convert", "Convert the markers and the source list of a report."),
        "check-links": ("custody.cite.cli.context:check_links", "Check whether the URLs of sources still work."),
        "export": ("custody.cite.cli.documents:export", "Export the sources of a report for other programs."),
        "report": ("custody.cite.cli.documents:report", "Show a report and a table of its sources."),
        "contract": (
            "custody.cite.cli.documents:contract",
            "Print the citation contract for an agent's instructions.",
        ),
    }
)


@click.group("cite", cls=CommandGroup, parts=PARTS)
def cite_command() -> None:
    """Register sources and check the reports that cite them.

    Every source has a permanent id (S1, S2, …) in this store's registry. Checking and converting reports works without
    a registry too.

    \b
    Example:
      custody cite audit report.md
    """
