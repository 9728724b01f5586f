"""Play stories and ask every tool about every line of how they ended."""

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
    """How a story is told, and who is asked about it afterwards."""

    source: str
    answerers: tuple[Answerer, ...]
    teller: Callable[[Path], Teller] = lambda _folder: Silent()
    """Makes who hears of the agents' work, for one story in its folder."""


@dataclass(frozen=True, slots=True)
class Played:
    """What one tool said of one story; ``failure`` says why there is no answer."""

    scenario: Scenario
    source: str
    answerer: str
    head: tuple[Judged, ...] = ()
    tree: tuple[Judged, ...] = ()
    failure: str = ""

    @property
    def lines(self) -> tuple[Judged, ...]:
        """The lines of both questions."""
        return (*self.head, *self.tree)


def play_all(scenarios: Sequence[Scenario], ways: Sequence[Way], jobs: int, tell: Tell) -> list[Played]:
    """Every story told in every way, a few at a time; the order of the results is that of the stories."""
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
    """One story told in one way, in a folder of its own."""
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
    """The world as the story leaves it."""
    world = a_world(folder, teller)
    ended = scenario.play(world) or world
    ended.check()
    teller.end()
    return ended


def asked(scenario: Scenario, source: str, world: World, answerer: Answerer) -> Played:
    """What one tool says of the committed files and of those in the work tree."""
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
