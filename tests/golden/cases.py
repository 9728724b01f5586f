"""Every golden answer by the name of its file."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.golden import demo_story, surface
from tests.golden.machine import a_terminal
from tests.golden.repositories import REPOSITORIES, Recorder, ask, build

FOLDER = Path(__file__).parent / "answers"
Make = Callable[[Path], str]
"""Makes an answer; it may use an empty folder."""


def cases() -> Iterator[tuple[str, Make]]:
    """Yield every answer's file name and how it is made."""
    yield "names.txt", lambda _: surface.names()
    yield "openapi.json", lambda _: surface.openapi()
    yield "reference.txt", lambda _: surface.reference()
    yield "demo.txt", lambda _: demo_story.play(is_json=False)
    yield "demo-json.txt", lambda _: demo_story.play(is_json=True)
    for name, record in REPOSITORIES.items():
        yield f"{name}.txt", partial(_answers, record)


def _answers(record: Recorder, folder: Path) -> str:
    with a_terminal(folder / "machine") as terminal:
        build(terminal, record)
        ask(terminal)
    return terminal.text()
