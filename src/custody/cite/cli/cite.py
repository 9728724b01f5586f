"""``custody cite``."""

from types import MappingProxyType

import click

from custody.terminal.frame import CommandGroup, CommandTable

PARTS: CommandTable = MappingProxyType(
    {
        "add": ("custody.cite.cli.registry:add_source_command", "Add or update a source."),
        "list": ("custody.cite.cli.registry:list_sources_command", "List every source with its id."),
        "show": ("custody.cite.cli.registry:show_source_command", "Show everything about one source."),
        "merge": ("custody.cite.cli.registry:merge_sources_command", "Merge two ids into one source."),
        "unmerge": ("custody.cite.cli.registry:unmerge_sources_command", "Undo a merge."),
        "context": (
            "custody.cite.cli.context:build_context_command",
            "Print the sources for an agent's prompt, within a token budget.",
        ),
        "near": ("custody.cite.cli.context:find_near_copies_command", "Find sources with nearly the same text."),
        "search": ("custody.cite.cli.context:search_sources_command", "Search sources by topic."),
        "audit": (
            "custody.cite.cli.documents:audit_documents_command",
            "Check the citations of Markdown files, in a repository or not.",
        ),
        "convert": (
            "custody.cite.cli.documents:convert_citations_command",
            "Convert the markers and the source list of a report.",
        ),
        "check-links": (
            "custody.cite.cli.context:check_links_command",
            "Check whether the URLs of sources still work.",
        ),
        "export": (
            "custody.cite.cli.documents:export_sources_command",
            "Export the sources of a report for other programs.",
        ),
        "report": (
            "custody.cite.cli.documents:render_cited_report_command",
            "Show a report and a table of its sources.",
        ),
        "contract": (
            "custody.cite.cli.documents:render_citation_contract_command",
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
