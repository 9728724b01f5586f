"""The captures of the documents: each main verb on the demo's repository, in a real pseudo-terminal.

    python tools/captures.py    make docs/terminal.md and docs/images/terminal again

The demo has its own clock, home and repository, so the same tree gives the same bytes.
"""

import fcntl
import os
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from custody.cli.main import main as run_custody  # noqa: E402 - found by the line above
from custody.demo.changes import CLEAN, REWRITE, SampleHistory  # noqa: E402
from custody.demo.first_half import RECORDING  # noqa: E402
from custody.demo.narrator import OutputKind, play_demo_story  # noqa: E402
from custody.demo.sandbox import InProcessCommand, Sandbox  # noqa: E402
from custody.demo.step import Command, StoryStep  # noqa: E402
from tools.terminal_svg import CellLine, draw_svg, line_text, read_screen  # noqa: E402

PAGE = "docs/terminal.md"
IMAGES = "docs/images/terminal"
WIDTHS = (80, 120)
ROWS = 50
RUN_SECONDS_MAX = 60


@dataclass(frozen=True, slots=True)
class CapturedVerb:
    """A verb to capture: its name on the page, what the page says about it, and the commands that people type."""

    name: str
    about: str
    lines: tuple[str, ...]

    @property
    def title(self) -> str:
        """Return the heading of its section."""
        return self.name if self.name == "custody" else f"custody {self.name}"


IMPORT = CapturedVerb("import", "Before the import, in a repository that was just set up.", ("custody import",))
VERBS = (
    CapturedVerb("custody", "Without a command: what is there, and what to do next.", ("custody",)),
    CapturedVerb("blame", "Who wrote each line.", ("custody blame src/till/tax.py",)),
    CapturedVerb("why", "One line, back to its prompt.", ("custody why src/till/tax.py:10",)),
    CapturedVerb("log", "The sessions, then one of them.", ("custody log", "custody log f1f1f1f1")),
    CapturedVerb(
        "gate",
        "A change that can merge, and one that needs review.",
        (f"custody gate main..{CLEAN}", f"custody gate main..{REWRITE}"),
    ),
    CapturedVerb("stats", "How many lines agents wrote.", ("custody stats",)),
    CapturedVerb("trust", "All agents, then one.", ("custody trust", "custody trust show claude-code")),
    CapturedVerb(
        "dupes check", "A change that solves what is already solved.", (f"custody dupes check main..{REWRITE}",)
    ),
    CapturedVerb("doctor", "The state of the setup and the store.", ("custody doctor",)),
    CapturedVerb("verify", "Whether a stored record was changed.", ("custody verify",)),
    CapturedVerb("init", "Help of a verb.", ("custody init --help",)),
)
ALL_VERBS = (IMPORT, *VERBS)


@dataclass(frozen=True, slots=True)
class Capture:
    """What a terminal of some width shows after the commands of a verb."""

    verb: CapturedVerb
    columns: int
    has_color: bool
    screen: Sequence[CellLine]

    @property
    def text(self) -> str:
        """Return what is on the screen, without styles."""
        return "".join(f"{line_text(line)}\n" for line in self.screen)

    @property
    def title(self) -> str:
        """Return the title of its picture."""
        return f"{self.verb.title}, {self.columns} columns"

    @property
    def image(self) -> str:
        """Return the name of its picture."""
        return f"{self.verb.name.replace(' ', '-')}-{self.columns}.svg"


def take_captures(*, colors: Sequence[bool] = (False, True)) -> list[Capture]:
    """Play the demo, and return the captures of all verbs at all widths."""
    found: list[Capture] = []

    def take(*verbs: CapturedVerb) -> StoryStep:
        def happen(history: SampleHistory) -> None:
            place, now_ns = history.place, history.place.clock.read()
            for verb in verbs:
                for has_color in colors:
                    for columns in WIDTHS:
                        screen = read_screen(_type_lines(verb.lines, place, now_ns, columns, has_color), columns)
                        found.append(Capture(verb, columns, has_color, screen))

        return StoryStep("capture", "", happens=happen)

    before, work = RECORDING
    setup, read = before.commands
    steps = (
        replace(before, commands=(setup,)),
        take(IMPORT),
        StoryStep("read", "", (read,)),
        work,
        StoryStep("index", "", (Command("custody dupes index"),)),
        take(*VERBS),
    )
    with _use_short_folder():
        report = play_demo_story(InProcessCommand(run_custody), _discard_line, steps)
    if report.outcome != "fine":
        raise RuntimeError(f"the demo does not run as expected: {report.steps}")
    return found


@contextmanager
def _use_short_folder() -> Iterator[None]:
    """Create temporary folders in /tmp: a longer path would be cut at the end of the terminal."""
    before = tempfile.tempdir
    tempfile.tempdir = "/tmp"
    try:
        yield
    finally:
        tempfile.tempdir = before


def _discard_line(_kind: OutputKind, _line: str) -> None:
    """Print nothing of the story."""


def _type_lines(lines: Sequence[str], place: Sandbox, now_ns: int, columns: int, has_color: bool) -> str:
    """Return what the terminal gets for the commands; the repository is the same afterwards."""
    stored = place.folder / "before"
    shutil.copytree(place.repository, stored, symlinks=True)
    try:
        typed = (f"$ {line}\n{_run_in_terminal(line.split(), now_ns, columns, has_color)}" for line in lines)
        return "\n".join(typed).replace(str(place.folder), "~")
    finally:
        for path in [*place.repository.iterdir()]:  # the folder itself is the working directory
            (shutil.rmtree if path.is_dir() else Path.unlink)(path)
        shutil.copytree(stored, place.repository, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(stored)


_AT_STORY_TIME = """\
import sys, time
now_ns = int(sys.argv[1])
time.time_ns = lambda: now_ns
sys.argv = sys.argv[2:]
from custody.cli.main import main
main()
"""


def _run_in_terminal(words: Sequence[str], now_ns: int, columns: int, has_color: bool) -> str:
    """Run a command in the current folder, in a new pseudo-terminal, and return everything it wrote."""
    ours, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    # Color is off for people who set NO_COLOR; a pager would wait for a key.
    environment = {**os.environ, "TERM": "xterm-256color", "GIT_PAGER": "cat"} | (
        {} if has_color else {"NO_COLOR": "1"}
    )
    environment.pop("COLUMNS", None)
    process = subprocess.Popen(
        [sys.executable, "-c", _AT_STORY_TIME, str(now_ns), *words],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment,
        start_new_session=True,
    )
    os.close(terminal)
    try:
        return b"".join(_read_terminal(ours)).decode()
    finally:
        process.wait(RUN_SECONDS_MAX)
        os.close(ours)


def _read_terminal(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(descriptor, 65_536)
        except OSError:  # Linux ends a terminal without writers with an error, macOS with nothing
            return
        if not chunk:
            return
        yield chunk


HEAD = """\
<!-- Generated by tools/captures.py: run make captures. -->

# What the terminal shows

Each main command on the sample repository of `custody demo`, in a terminal of 80 columns and of 120. `~` is the folder
of the sample. Pictures have the colors that a terminal shows; text is what `NO_COLOR=1` or `--color never` gives.
"""


def render_page(captures: Sequence[Capture]) -> str:
    """Return the page: for each verb its plain text at each width, and links to its pictures."""
    return HEAD + "".join(_render_section(verb, captures) for verb in ALL_VERBS)


def _render_section(verb: CapturedVerb, captures: Sequence[Capture]) -> str:
    plain = [capture for capture in captures if capture.verb == verb and not capture.has_color]
    pictures = "\n".join(f"![{one.title}](images/terminal/{one.image})" for one in plain)
    widths: dict[str, list[str]] = {}
    for capture in plain:
        widths.setdefault(capture.text, []).append(str(capture.columns))
    blocks = (f"\n{' and '.join(columns)} columns:\n\n```text\n{text}```\n" for text, columns in widths.items())
    return f"\n## {verb.title}\n\n{verb.about}\n\n{pictures}\n" + "".join(blocks)


def render_images(captures: Sequence[Capture]) -> dict[str, str]:
    """Return the pictures by their file name."""
    return {
        capture.image: draw_svg(capture.screen, capture.columns, capture.title)
        for capture in captures
        if capture.has_color
    }


def write_captures(root: Path, captures: Sequence[Capture]) -> None:
    """Write the page and its pictures, and remove pictures that are not made anymore."""
    (root / PAGE).write_text(render_page(captures), encoding="utf-8")
    folder, images = root / IMAGES, render_images(captures)
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.name not in images:
            path.unlink()
    for name, image in images.items():
        (folder / name).write_text(image, encoding="utf-8")


if __name__ == "__main__":
    write_captures(ROOT, take_captures())
    print(f"wrote {PAGE} and {IMAGES}")
