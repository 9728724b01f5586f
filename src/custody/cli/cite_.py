"""``custody cite``."""

from types import MappingProxyType

import click

from custody.cli.parts import Parts, Table

PARTS: Table = MappingProxyType(
    {
        "add": ("cite_registry_", "Register a source, or say more of one that is known."),
        "list": ("cite_registry_", "List every source with its id."),
        "show": ("cite_registry_", "Show everything about one source."),
        "merge": ("cite_registry_", "Say that two ids are one source."),
        "unmerge": ("cite_registry_", "Take a merge back."),
        "context": ("cite_context_", "Print the sources for an agent's prompt, within a budget of tokens."),
        "near": ("cite_context_", "Find sources whose kept texts are nearly copies."),
        "search": ("cite_context_", "Find sources by what they speak of."),
        "audit": ("cite_audit_", "Check the citations of reports: any Markdown file, in a repository or not."),
        "convert": ("cite_convert_", "Rewrite the markers of a report and its list of sources."),
        "check-links": ("cite_links_", "See whether the addresses of sources still answer."),
        "export": ("cite_convert_", "Write the sources that a report lists for other programs."),
        "report": ("cite_report_", "Show a report with a table of its sources beneath."),
        "contract": ("cite_report_", "Print the citation contract, for the instructions of any agent."),
    }
)


@click.group("cite", cls=Parts, parts=PARTS)
def command() -> None:
    """Keep the sources that statements rest on, and check what cites them.

    Every source has a permanent id, S1, S2 and so on, in this store's registry. Reports are checked and rewritten with
    or without one.
    """
