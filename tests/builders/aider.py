"""Aider: a chat history as public ones and ``aider/io.py`` have it."""

from dataclasses import dataclass, field
from pathlib import Path

MODEL = "openrouter/anthropic/claude-sonnet-4.5"
STARTED = "2026-01-31 12:00:00"
SESSION = "aider-2026-01-31T120000"


@dataclass
class Aider:
    """A history in progress."""

    lines: list[str] = field(default_factory=list)

    def start(self, at: str = STARTED, model: str = MODEL) -> "Aider":
        """Begin a session."""
        self.lines += ["", f"# aider chat started at {at}", ""]
        self.notice("/home/ana/.local/bin/aider", "Aider v0.86.2", f"Main model: {model} with diff edit format")
        return self

    def prompt(self, text: str) -> "Aider":
        """Type a prompt."""
        self.lines += ["", *(f"#### {line}  " for line in text.split("\n"))]
        return self

    def notice(self, *texts: str) -> "Aider":
        """Add lines of the program."""
        self.lines += [f"> {text}  " for text in texts]
        return self

    def answer(self, text: str) -> "Aider":
        """Add an answer and what it cost."""
        self.lines += ["", *text.split("\n"), ""]
        return self.notice("Tokens: 3.1k sent, 1.5k received. Cost: $0.0029 message, $0.0029 session.")

    def applied(self, *paths: str, commit: str | None = None) -> "Aider":
        """Report the edited files and the commit."""
        self.notice(*(f"Applied edit to {path}" for path in paths))
        if commit is not None:
            self.notice(f"Commit {commit} feat: do it", "You can use /undo to undo and discard each aider commit.")
        return self

    def replace(self, path: str, old: str, new: str, *, commit: str | None = None) -> "Aider":
        """Replace a piece of a file."""
        return self.answer(f"I will change it:\n\n{block(path, old, new)}\n\nDone.").applied(path, commit=commit)

    def write(self, path: str, text: str, *, commit: str | None = None) -> "Aider":
        """Write a whole file."""
        return self.answer(f"{path}\n```\n{text.removesuffix(chr(10))}\n```").applied(path, commit=commit)

    def text(self) -> str:
        """Return the history."""
        return "".join(f"{line}\n" for line in self.lines)

    def put(self, folder: Path) -> Path:
        """Write the history into a work tree."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / ".aider.chat.history.md"
        file.write_text(self.text(), encoding="utf-8")
        return file


def block(path: str, old: str, new: str, *, language: str = "python") -> str:
    """Return a SEARCH/REPLACE block with its file above it."""
    pieces = "\n".join(
        ("<<<<<<< SEARCH", *([old] if old else []), "=======", *([new] if new else []), ">>>>>>> REPLACE")
    )
    return f"{path}\n```{language}\n{pieces}\n```"
