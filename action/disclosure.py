"""Write what ``custody trailer --check --json`` found as Markdown, and print how many commits miss a trailer.

Runs with the runner's Python alone: only the standard library.
"""

import json
import sys
from html import escape
from pathlib import Path

COMMITS_SHOWN_MAX = 50


def main(report: str, summary: str) -> None:
    """Read ``report`` and write ``summary``."""
    commits = json.loads(Path(report).read_text(encoding="utf-8"))["commits"]
    wrong = [commit for commit in commits if commit["missing"] or commit["unbacked"]]
    lines = ["### Disclosure of agents", ""]
    if not wrong:
        lines.append(f"Checked commits: {len(commits):,}. Each has the trailers that records support.")
    for commit in wrong[:COMMITS_SHOWN_MAX]:
        lines.append(f"- {code(commit['commit'][:7])} {code(commit['subject'])}")
        lines += [f"  - missing: {code(trailer)}" for trailer in commit["missing"]]
        lines += [f"  - no record here supports: {code(trailer)}" for trailer in commit["unbacked"]]
    if len(wrong) > COMMITS_SHOWN_MAX:
        lines.append(f"- {len(wrong) - COMMITS_SHOWN_MAX:,} more")
    Path(summary).write_text("\n".join([*lines, ""]), encoding="utf-8")
    sys.stdout.write(f"{sum(1 for commit in commits if commit['missing'])}\n")


def code(text: str) -> str:
    """Return a text that Markdown shows as it is: a subject or a name is chosen by its author."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text)[:200]
    return f"<code>{escape(shown).replace('|', '&#124;').replace('@', '&#64;').replace('`', '&#96;')}</code>"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
