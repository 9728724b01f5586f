"""Play stories and query every tool about every line of the result."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench.attribution.answers import Answerer, Question
from bench.attribution.scenario import Scenario
from bench.attribution.score import Judged, judged
from bench.attribution.telling import Silent, Teller
from bench.attribution.world import World, a_world
from bench.bars import BenchError
from bench.progress import Tell


@dataclass(frozen=True, slots=True)
class Way:
    """How a story's events are recorded, and the tools that answer."""

    source: str
    answerers: tuple[Answerer, ...]
    teller: Callable[[Path], Teller] = lambda _folder: Silent()
    """Makes the receiver of the agents' events, for one story in its folder."""


@dataclass(frozen=True, slots=True)
class Played:
    """The answers of one tool to one story; ``failure`` is the reason if they are missing."""

    scenario: Scenario
    source: str
    answerer: str
    head: tuple[Judged, ...] = ()
    tree: tuple[Judged, ...] = ()
    failure: str = ""

    @property
    def lines(self) -> tuple[Judged, ...]:
        """Return the lines of both states: committed, and in the work tree."""
        return (*self.head, *self.tree)


def play_all(scenarios: Sequence[Scenario], ways: Sequence[Way], jobs: int, tell: Tell) -> list[Played]:
    """Play every story from every source, a few at a time; results are in the order of the stories."""
    wanted = [(one, way) for way in ways for one in scenarios]
    done = 0

    def play_one(given: tuple[Scenario, Way]) -> list[Played]:
        nonlocal done
        results = list(play(*given))
        done += 1
        tell(f"{done} of {len(wanted)}: {given[0].name}, {given[1].source}")
        return results

    with ThreadPoolExecutor(jobs) as pool:
        return [result for results in pool.map(play_one, wanted) for result in results]


def play(scenario: Scenario, way: Way) -> Iterator[Played]:
    """Play one story from one source, in its own folder."""
    with tempfile.TemporaryDirectory(prefix="custody-attribution-") as temporary:
        folder = Path(temporary)
        try:
            world = played(scenario, way.teller(folder), folder)
        except BenchError as error:
            yield from (Played(scenario, way.source, one.name, failure=str(error)) for one in way.answerers)
            return
        for answerer in way.answerers:
            yield asked(scenario, way.source, world, answerer)


def played(scenario: Scenario, teller: Teller, folder: Path) -> World:
    """Play the story and return its world."""
    world = a_world(folder, teller)
    ended = scenario.play(world) or world
    ended.check()
    teller.end()
    return ended


def asked(scenario: Scenario, source: str, world: World, answerer: Answerer) -> Played:
    """Query one tool about the committed files and those in the work tree."""
    try:
        head = tuple(_judged(world, answerer, committed=True))
        tree = tuple(_judged(world, answerer, committed=False))
    except BenchError as error:
        return Played(scenario, source, answerer.name, failure=str(error))
    return Played(scenario, source, answerer.name, head, tree)


def _judged(world: World, answerer: Answerer, *, committed: bool) -> Iterable[Judged]:
    pages = world.commits[world.head()] if committed else world.pages
    for path, page in sorted(pages.items()):
        if page.lines:
            question = Question(world, path, page.lines, committed)
            yield from judged(path, page.lines, answerer.answer(question))
