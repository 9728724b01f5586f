"""Properties of any captured history: neither order nor unrelated records matter, and less evidence never adds any."""

import json
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from custody.attribution.carry import count_informative_characters
from custody.core.wire.report import encode_report
from custody.ledger.records import erase_record_bodies
from tests.builders.drawn_lines import PERSONS_LINES, Turn, lives
from tests.builders.events import an_event
from tests.builders.lines import SESSION, Scene, an_edit_event, moment, text

FEW = settings(max_examples=settings().max_examples // 12)
"""Each example creates repositories and runs git, which is slow."""
RANK = {".": 0, "P": 0, "m": 1, "A": 2}
OTHERS = st.lists(st.integers(0, 9), max_size=4).map(
    lambda some: [f"stranger_{n} = of_another_file({n})" for n in some]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder for the repositories of all examples."""
    return tmp_path_factory.mktemp("lives")


def a_scene(folder: Path) -> Scene:
    return Scene(Path(tempfile.mkdtemp(dir=folder)))


def events_of(life: Sequence[Turn], same_time: bool = False) -> list[bytes]:
    """Return the hook events of the agent's turns; two of them may have the same time."""
    return [
        an_edit_event(
            "app.py", text(*turn.before), text(*turn.after), at=10 * (n - n % 2 if same_time else n), id=f"e{n}"
        )
        for n, turn in enumerate(life)
        if turn.by_agent
    ]


def lived(
    folder: Path, life: Sequence[Turn], *, is_committed: bool = False, events: Sequence[bytes] | None = None
) -> Scene:
    """Return a repository with the final file, committed half-way and at the end if ``is_committed``."""
    scene = a_scene(folder).saw(*(events_of(life) if events is None else events))
    last = text(*life[-1].after)
    if is_committed:
        half = scene.committed(at=10 * (len(life) // 2) + 5, app__py=text(*life[len(life) // 2].after))
        scene.committed(half, at=10 * len(life), app__py=last)
    return scene.wrote("app.py", last)


def answers(scene: Scene, *, searched: bool = False) -> list[dict[str, Any]]:
    """Return the answer for each line without record ids and (unless ``searched``) search counts."""
    found = json.loads(encode_report(scene.report()))["attributions"]
    for attribution in found:
        for signal in attribution["evidence"]:
            del signal["records"]
        if not searched and attribution["searched"] is not None:
            del attribution["searched"]["records"], attribution["searched"]["since"]
    assert isinstance(found, list)
    return found


@FEW
@given(lives(), st.booleans())
def test_every_line_appears_once_in_order_and_no_persons_line_is_an_agents(
    folder: Path, life: list[Turn], is_committed: bool
) -> None:
    scene = lived(folder, life, is_committed=is_committed)
    told = scene.said()
    numbers = [number for attribution in told for number in range(attribution.start_line, attribution.end_line + 1)]
    assert numbers == list(range(1, len(life[-1].after) + 1))
    for line, mark in zip(life[-1].after, scene.marks(), strict=True):
        assert not (mark in "Am" and line in PERSONS_LINES), line


@FEW
@given(lives(), OTHERS, st.booleans())
def test_unrelated_records_never_change_an_answer(
    folder: Path, life: list[Turn], others: list[str], is_committed: bool
) -> None:
    assume(any(turn.by_agent for turn in life))  # the first capture decides where the search starts
    scene = lived(folder, life, is_committed=is_committed)
    before = answers(scene)
    scene.edited("other.py", None, text(*others), at=3, id="o1").edited("app.py.orig", None, text(*others), id="o2")
    scene.saw(an_event("prompt", at=moment(4), session="another", id="o3"))
    assert answers(scene) == before
    with scene.workspace.writing() as store:
        store.db.run("DELETE FROM lineage_version")
    assert answers(scene) == before


@FEW
@given(lives(), st.booleans(), st.booleans(), st.integers(0, 4), st.randoms(use_true_random=False))
def test_the_order_in_which_records_arrive_never_matters(
    folder: Path, life: list[Turn], is_committed: bool, same_time: bool, portion: int, chance: random.Random
) -> None:
    events = events_of(life, same_time)
    straight = lived(folder, life, is_committed=is_committed, events=events)
    shuffled = list(events)
    chance.shuffle(shuffled)
    mixed = lived(folder, life, is_committed=is_committed, events=shuffled[:portion])
    mixed.marks()
    mixed.saw(*shuffled[portion:])
    assert answers(mixed, searched=True) == answers(straight, searched=True)


@FEW
@given(lives(), st.booleans(), st.integers(0, 9))
def test_erasing_a_record_never_raises_any_share(
    folder: Path, life: list[Turn], is_committed: bool, which: int
) -> None:
    scene = lived(folder, life, is_committed=is_committed)
    before, events = scene.marks(), events_of(life)
    assume(events)
    erase_record_bodies(scene.workspace, [str(which % len(events) + 1)], who="ana", why="a secret")
    after = scene.marks()
    # An uninformative line follows its neighbors, and the erased record may have shown its own origin.
    telling = [place for place, line in enumerate(life[-1].after) if count_informative_characters(line)]
    assert all(RANK[after[place]] <= RANK[before[place]] for place in telling), (before, after)
    if len(events) == 1:
        assert set(after) <= {"."}


@FEW
@example([Turn(by_agent=True, before=("",), after=("",))], {"time"})
@example([Turn(by_agent=True, before=("",), after=("",))], {"head", "link", "session", "time"})
@given(lives(), st.sets(st.sampled_from(("link", "head", "session", "time")), min_size=1))
def test_less_evidence_never_reaches_a_better_tier(folder: Path, life: list[Turn], dropped: set[str]) -> None:
    whole, less = (_with_evidence(folder, life, without) for without in (set[str](), dropped))
    for full, part in zip(_tiers(whole), _tiers(less), strict=True):
        assert part >= full


def _with_evidence(folder: Path, life: Sequence[Turn], without: set[str]) -> Scene:
    """Return a repository with base commit, link and model, but for ``without``; without a time it is days off."""
    scene = a_scene(folder)
    base = scene.committed(at=-86_400, app__py=text(*life[0].before))
    last = scene.committed(base, at=100, app__py=text(*life[-1].after))
    head, day = None if "head" in without else base, 86_400 if "time" in without else 0
    for n, turn in enumerate(life):
        if turn.by_agent:
            scene.edited("app.py", text(*turn.before), text(*turn.after), at=n - day, id=f"e{n}", head=head)
    if "link" not in without:
        scene.saw(an_event("link", session=SESSION, commit=last, origin="hook", at=moment(101)))
    if "session" not in without:
        scene.saw(an_event("session", session=SESSION, at=moment(-5 - day)))
    return scene


def _tiers(scene: Scene) -> list[int]:
    """Return the tier of each line; 7 for none."""
    return [line.tier or 7 for line in scene.said() for _ in range(line.start_line, line.end_line + 1)]


@FEW
@given(lives())
def test_the_answer_is_the_same_from_the_cache_and_computed_again(folder: Path, life: list[Turn]) -> None:
    scene = lived(folder, life, is_committed=True)
    first = encode_report(scene.report())
    assert encode_report(scene.report()) == first
    with scene.workspace.writing() as store:
        store.db.run("DELETE FROM lineage_version")
    assert encode_report(scene.report()) == first
