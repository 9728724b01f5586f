"""The recorded repositories: one per source of evidence, all with the same small program."""

import json
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

from tests.builders.cline import Cline
from tests.builders.codex import a_rollout, patch_text, updated
from tests.builders.copilot import Copilot
from tests.builders.cursor import Cursor
from tests.builders.gemini import Gemini
from tests.builders.hooks import a_hook_event, an_edit
from tests.builders.opencode import Opencode
from tests.builders.repo import Built, a_repository
from tests.builders.traces import a_conversation, a_link, a_range, a_trace, written
from tests.builders.transcripts import a_transcript, project_name
from tests.golden.machine import Terminal

BEGAN = 1_769_860_800
"""2026-01-31T12:00:00Z, when every session begins."""
PATH = "src/app.py"
OLD = "def price(item):\n    return item.cost\n\n\ndef total(items):\n    return sum(map(price, items))\n"
COST = "    return item.cost"
DISCOUNT = "    return item.cost * (1 - item.discount)"
NEW = OLD.replace(COST, DISCOUNT)
TAX = "def tax(amount, rate):\n    return round(amount * rate, 2)\n"
README = "# Shop\n\nPrices in euro.\n"
PERSON = NEW + "\n\ndef currency_of(item):\n    return item.currency or 'EUR'\n"
PROMPT = "give a discount"

Recorder = Callable[[Terminal, Built], None]


def build(terminal: Terminal, record: Recorder) -> None:
    """Make the repository: a commit of a person, the session, its commit, a person's commit and an open branch."""
    built = a_repository(terminal.folder)
    base = built.commit(_files(OLD), at=BEGAN - 3600, message=b"Start the shop")
    built.checkout()
    record(terminal, built)
    merged = built.commit(_files(NEW, TAX), base, at=BEGAN + 600, message=b"Give a discount")
    person = built.commit(_files(PERSON, TAX), merged, at=BEGAN + 1200, message=b"Add currencies")
    built.commit(
        _files(PERSON.replace("or 'EUR'", "or 'USD'"), TAX),
        person,
        at=BEGAN + 1800,
        message=b"Use dollars",
        ref="refs/heads/dollars",
    )
    built.commit(_files(NEW, TAX), base, at=BEGAN + 1900, message=b"Discount again", ref="refs/heads/again")
    built.checkout()


def _files(app: str, tax: str | None = None) -> dict[bytes, bytes]:
    files = {PATH.encode(): app.encode(), b"README.md": README.encode()}
    return files | ({b"src/tax.py": tax.encode()} if tax is not None else {})


def claude(terminal: Terminal, built: Built) -> None:
    """Transcripts of Claude Code with a subagent, a page read, a failed call and a commit."""
    session = a_transcript("5d2f0c3e-1111-4222-8333-444455556666", built.path)
    session.prompt(PROMPT).says("I will look first").read(PATH, OLD)
    session.fetch("https://example.org/discounts", "Discounts are shares of a price.")
    session.edit(PATH, OLD, COST, DISCOUNT).write("src/tax.py", None, TAX)
    session.bash("pytest -q", "2 passed").bash("make", "no rule", failed=True)
    session.bash("git commit -am 'Give a discount'", "[main 0123abc] Give a discount")
    home = Path(terminal.folder.parent / "home")
    session.put(home / ".claude" / "projects" / project_name(built.path))
    terminal.run("import", "claude-code")


def codex(terminal: Terminal, built: Built) -> None:
    """Write a rollout of Codex CLI."""
    session = a_rollout(built.path).prompt(PROMPT).says("patching")
    session.patch(patch_text(updated(PATH, OLD, NEW)), None)
    session.put(terminal.folder.parent / "home" / ".codex" / "sessions")
    terminal.run("import", "codex")


def gemini(terminal: Terminal, built: Built) -> None:
    """Write a chat of Gemini CLI."""
    session = Gemini(built.path).prompt(PROMPT).says("replacing").replace(PATH, OLD, COST, DISCOUNT)
    session.write("src/tax.py", None, TAX).shell("pytest -q", "2 passed")
    session.put(terminal.folder.parent / "home" / ".gemini" / "tmp")
    terminal.run("import", "gemini")


def cursor(terminal: Terminal, built: Built) -> None:
    """Write a conversation into Cursor's database."""
    session = Cursor(built.path).prompt(PROMPT).replace(PATH, OLD, COST, DISCOUNT).write("src/tax.py", None, TAX)
    session.shell("pytest -q", "2 passed", 0)
    session.put_database(terminal.folder.parent / "home")
    terminal.run("import", "cursor")


def copilot(terminal: Terminal, built: Built) -> None:
    """Write a session of Copilot CLI."""
    session = Copilot(built.path, surface="cli").prompt(PROMPT).replace(PATH, COST, DISCOUNT)
    session.create("src/tax.py", TAX).shell("pytest -q", "2 passed")
    session.put(terminal.folder.parent / "home", "stream")
    terminal.run("import", "copilot")


def cline(terminal: Terminal, built: Built) -> None:
    """Write a task of Cline and one of Roo Code, as VS Code's extensions store them."""
    home = terminal.folder.parent / "home"
    Cline(built.path).prompt(PROMPT).replace(PATH, COST, DISCOUNT, final=NEW).shell("pytest -q", "2 passed").put(home)
    Cline(built.path, "roo").prompt("add taxes").write("src/tax.py", TAX).put(home)
    terminal.run("import", "cline")
    terminal.run("import", "roo-code")


def opencode(terminal: Terminal, built: Built) -> None:
    """Write a session into opencode's database."""
    session = Opencode(built.path, ms=BEGAN * 1000).prompt(PROMPT)
    session.answer().edit(PATH, OLD, COST, DISCOUNT).write("src/tax.py", TAX).shell("pytest -q", "2 passed")
    session.put_database(terminal.folder.parent / "home" / ".local" / "share" / "opencode")
    terminal.run("import", "opencode")


def live(terminal: Terminal, built: Built) -> None:
    """Events recorded as they happen: Claude Code's hooks, and a robot's own."""
    for event in (
        a_hook_event("SessionStart", built.path, source="startup", model="claude-opus-4-6"),
        a_hook_event("UserPromptSubmit", built.path, prompt=PROMPT),
        an_edit(built.path, PATH, OLD, COST, DISCOUNT),
        a_hook_event("SessionEnd", built.path, reason="exit"),
    ):
        terminal.run("record", "--agent", "claude-code", stdin=json.dumps(event).encode())
    edit = {"session": "s1", "path": "src/tax.py", "after": TAX}
    for robot in ({"kind": "prompt", "session": "s1", "text": "add taxes"}, {"kind": "edit", **edit}):
        event = {"custody": 1, "at": "2026-01-31T12:05:00Z", "id": f"r-{robot['kind']}", **robot}
        terminal.run("record", "--agent", "robot", stdin=json.dumps(event).encode())


def claims(terminal: Terminal, built: Built) -> None:
    """Claims of another tool: Agent Trace records and a link to a commit."""
    folder = terminal.folder.parent / "traces"
    trace = a_trace(PATH, a_conversation(a_range(1, 2)), vcs={"type": "git", "revision": built.head()})
    file = written(folder / "traces.jsonl", trace)
    written(folder / "commit-links.jsonl", a_link(built.head(), trace["id"]))
    terminal.run("import", str(file))
    terminal.run("import", str(folder / "commit-links.jsonl"))


REPOSITORIES: MappingProxyType[str, Recorder] = MappingProxyType(
    {
        "claude": claude,
        "codex": codex,
        "gemini": gemini,
        "cursor": cursor,
        "copilot": copilot,
        "opencode": opencode,
        "cline": cline,
        "live": live,
        "claims": claims,
    }
)


def ask(terminal: Terminal) -> None:
    """Run every query on a repository, as text and as JSON."""
    for words in QUESTIONS:
        terminal.run(*words)
        if not ONE_SHAPE & set(words):
            terminal.run(*words, "--json")
    for session in json.loads(terminal.run("log", "--json"))["sessions"]:
        _ask_of_session(terminal, session["session"])
    for more in ((), ("otlp",)):
        _show_export(terminal, *more)
    terminal.run("erase", "1", "--who", "ana", "--reason", "a test", "--yes")
    for words in (("verify",), ("show", "1"), ("blame", PATH)):
        terminal.run(*words)


def _ask_of_session(terminal: Terminal, session: str) -> None:
    for words in (("log", session), ("log", session, "--tree"), ("graph", "show", session), ("graph", "next", session)):
        terminal.run(*words)
        terminal.run(*words, "--json")


def _show_export(terminal: Terminal, *kind: str) -> None:
    file = terminal.folder.parent / "-".join(("export", *kind))
    terminal.run("export", *kind, "--output", str(file))
    terminal.lines += ["the export:", *terminal.masks.apply(file.read_text("utf-8")).splitlines(), ""]


ONE_SHAPE = frozenset({"--porcelain", "--format"})
QUESTIONS: tuple[tuple[str, ...], ...] = tuple(
    tuple(line.split())
    for line in """\
log
log --by-agent
records -n 5
show 1
blame src/app.py
blame src/app.py -v -L 1,3
blame src/app.py HEAD~1
blame src/app.py --porcelain
blame src/app.py --profile document
blame src/app.py --format sarif
blame src/tax.py
why src/app.py:2
why src/tax.py:1
why src/app.py:10
stats
stats --agent claude-code
gate main..dollars
gate main..dollars --format markdown
gate main..dollars --format sarif
gate main..dollars --format statement
gate main~2..main~1
dupes index --workers 1
dupes check main..again
dupes cluster --all
trust record claude-code accepted main~1
trust record --outcome merged main~2..main~1
trust list
trust show claude-code
trust why claude-code
trust approve main..dollars
trust simulate
trust reverts
graph show
graph related Edit
graph dag
cite add https://example.org/discounts --title Discounts
cite list
cite show S1
cite audit README.md
rules attribute
verify
doctor
blame nowhere.py
why src/app.py:99
show 9999
gate nowhere
""".splitlines()
)
