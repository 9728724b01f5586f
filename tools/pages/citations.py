"""The page of findings of a citation audit."""

from custody.cite.codes import CODES
from tools import markdown


def citations_page() -> str:
    """``citations.md``."""
    rows = [
        (f"`{code.value}`", about.name, markdown.text(about.meaning), markdown.text(about.remedy))
        for code, about in CODES.items()
    ]
    table = markdown.table(("code", "called", "what it means", "what to do"), rows)
    return (
        "# Findings about citations\n\n"
        "`custody cite audit` gives each of its findings one of these codes, with its line and column"
        " ([citations](../cite.md)).\n\n"
        f"{table}"
    )
