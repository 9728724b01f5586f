"""Random histories: the versions of a file replayed, every changed hunk by a random author, agent or person.

The truth of a hunk is declared when it is made. Where the same text was there before by somebody else, re-indented,
reworded, moved or brought back, the author is open to dispute. Such a line counts for either author.
"""

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from random import Random

from bench.attribution.formatter import formatted
from bench.attribution.scenario import Play, Scenario
from bench.attribution.truth import EITHER, PERSON, WORD, Line, Page, Who, page_of, put, says_little
from bench.attribution.versions import Versions
from bench.attribution.world import Agent, World

VERSIONS = 14
REWORDED_MIN = 0.4
GATHERED_MIN = 0.7
WIDTH = 100
TIMES_FORMATTED = 6

BY_AGENT, BY_SAME = 0.55, 0.6
WHOLE_WRITE, NO_COMMIT, AMENDED, SQUASHED = 0.1, 0.15, 0.12, 0.1
RENAMED, REFORMATTED, STASHED, REBASED, REMARKED = 0.06, 0.05, 0.08, 0.06, 0.2
AGENT_COMMITS, DAYS_PASS, LEFT_OPEN = 0.2, 0.3, 0.3


@dataclass(frozen=True, slots=True)
class Hunk:
    """A replacement of the lines from ``first`` to before ``last`` by ``texts``."""

    first: int
    last: int
    texts: tuple[str, ...]


@dataclass
class Replay:
    """A history of one file while it is played."""

    world: World
    random: Random
    name: str
    neat: bool = False
    agents: list[Agent] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    branches: int = 0
    written: dict[str, set[Who]] = field(default_factory=dict)
    """All authors of lines with this text, ignoring white space."""

    @property
    def page(self) -> Page:
        """Return the current file."""
        return self.world.pages[self.name]

    def chance(self, of: float) -> bool:
        """Return True with this probability."""
        return self.random.random() < of

    # One version after the other.

    def begin(self, text: str) -> None:
        """Begin with a file by a person."""
        self.world.person.write(self.name, text)
        self._note(self.page.lines)
        self.made.append(self.world.commit("begin"))
        self.agents = [self.world.agent(f"session {n}") for n in range(self.random.randint(1, 3))]

    def reach(self, text: str) -> None:
        """Change the file into ``text``, hunk by hunk."""
        hunks = hunks_between(self.page, neatened(page_of(text, PERSON)) if self.neat else page_of(text, PERSON))
        gone = [line for hunk in hunks for line in self.page.lines[hunk.first : hunk.last]]
        if hunks and self.chance(WHOLE_WRITE):
            self._write_all(hunks, gone)
            return
        author: Agent | None = None
        shift = 0
        for n, hunk in enumerate(hunks):
            if n == 0 or not self.chance(BY_SAME):
                author = self.random.choice(self.agents) if self.chance(BY_AGENT) else None
            self._apply(Hunk(hunk.first + shift, hunk.last + shift, hunk.texts), author, gone)
            shift += len(hunk.texts) - (hunk.last - hunk.first)

    def _apply(self, hunk: Hunk, agent: Agent | None, gone: Sequence[Line]) -> None:
        fresh = self._fresh(hunk, PERSON if agent is None else agent.who, gone)
        after = slid(put(self.page, (hunk.first, hunk.last), fresh), hunk)
        if agent is None:
            self.world.lay(self.name, after)
            return
        strings = edit_strings(self.page, hunk)
        if strings is None:
            agent.write_as(self.name, after)
        else:
            agent.edit_as(self.name, *strings, after)

    def _write_all(self, hunks: Sequence[Hunk], gone: Sequence[Line]) -> None:
        agent, page = self.random.choice(self.agents), self.page
        for hunk in reversed(hunks):
            fresh = self._fresh(hunk, agent.who, gone, page)
            page = slid(put(page, (hunk.first, hunk.last), fresh), hunk)
        agent.write_as(self.name, page)

    def _fresh(self, hunk: Hunk, who: Who, gone: Sequence[Line], page: Page | None = None) -> list[Line]:
        old = (page or self.page).lines[hunk.first : hunk.last]
        here = {squeezed(line.text) for line in (page or self.page).lines}
        back = {text for text, authors in self.written.items() if text not in here and authors - {who}}
        fresh = [Line(text, author(text, who, old, gone, back)) for text in hunk.texts]
        self._note(fresh)
        return fresh

    def _note(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self.written.setdefault(squeezed(line.text), set()).add(line.who)

    # Events between versions.

    def remark(self) -> None:
        """Add a comment by a person in the middle of the file."""
        place = self.random.randint(0, len(self.page.lines))
        words = " ".join(self.random.choice(REMARKS) for _ in range(6))
        self.world.person.insert_at(self.name, place, f"# {words} {self.random.randint(100, 999)}")

    def tidy(self) -> None:
        """Run the formatter as a person; from now on all authors use it."""
        self.neat = True
        self.world.lay(self.name, neatened(self.page))

    def rename(self) -> None:
        """Rename the file, as a person."""
        stem, _, ending = self.name.rpartition(".")
        new = f"{stem}_{self.random.randint(10, 99)}.{ending}"
        self.world.person.rename(self.name, new)
        self.name = new

    def stash(self) -> None:
        """Stash the work and bring it back."""
        world, before = self.world, dict(self.world.pages)
        if world.git("status", "--porcelain").strip():
            world.git("stash", "push", "--quiet", "--include-untracked")
            world.git("stash", "pop", "--quiet")
            world.pages = before
            world.check()

    def keep(self) -> None:
        """Commit in a random, realistic way."""
        world = self.world
        if len(self.made) > 1 and self.chance(AMENDED):
            self.made[-1] = world.amend()
        elif self.chance(REBASED):
            self._rebased()
        elif self.chance(AGENT_COMMITS) and world.git("status", "--porcelain").strip():
            self.made.append(self.random.choice(self.agents).commit())
        else:
            self.made.append(world.commit())
        if len(self.made) > 3 and self.chance(SQUASHED):
            count = self.random.randint(2, min(3, len(self.made) - 1))
            world.git("reset", "--quiet", "--soft", f"HEAD~{count}")
            self.made[-count:] = [world.commit(f"{count} in one")]

    def _rebased(self) -> None:
        world = self.world
        self.branches += 1
        branch = f"topic-{self.branches}"
        world.git("checkout", "--quiet", "-b", branch)
        world.commit("on a branch")
        pages = dict(world.pages)
        world.switch("main")
        world.person.write(f"notes-{self.branches}.txt", f"the note number {self.branches} of this history\n")
        self.made.append(world.commit("main goes on"))
        notes = dict(world.pages)
        world.git("rebase", "--quiet", "main", branch)
        world.git("checkout", "--quiet", "main")
        world.git("merge", "--quiet", "--ff-only", branch)
        world.pages = {name: page for name, page in notes.items() if name.startswith("notes-")} | pages
        world.check()
        self.made.append(world.remember(world.pages))


REMARKS = "careful here because the old clients still send this field twice when they retry after midnight".split()


def hunks_between(old: Page, new: Page) -> list[Hunk]:
    """Return the replacements that turn one text into the other."""
    before, after = [line.text for line in old.lines], [line.text for line in new.lines]
    codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [Hunk(i1, i2, tuple(after[j1:j2])) for tag, i1, i2, j1, j2 in codes if tag != "equal"]


def slid(page: Page, hunk: Hunk) -> Page:
    """Apply ``hunk`` to ``page``; lines that a diff could place in two ways count for either author.

    An insertion that ends with the lines above it could have been made higher up. One that begins with the lines below
    it could have been made further down.
    """
    if hunk.first != hunk.last:
        return page
    lines, end = list(page.lines), hunk.first + len(hunk.texts)
    up = _run((lines[end - 1 - n], lines[hunk.first - 1 - n]) for n in range(min(hunk.first, len(lines))))
    down = _run((lines[hunk.first + n], lines[end + n]) for n in range(len(lines) - end))
    for n in range(up):
        _blur(lines, end - 1 - n, hunk.first - 1 - n)
    for n in range(down):
        _blur(lines, hunk.first + n, end + n)
    return page.with_lines(lines)


def _run(pairs: Iterable[tuple[Line, Line]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0].text == pair[1].text, pairs))


def _blur(lines: list[Line], one: int, other: int) -> None:
    if lines[one].who != lines[other].who:
        lines[one] = lines[other] = Line(lines[one].text, EITHER)


def edit_strings(page: Page, hunk: Hunk) -> tuple[str, str] | None:
    """Return the strings of an Edit for ``hunk``, with unique context; None if no context is unique."""
    texts = [line.text for line in page.lines]
    whole = "\n".join(texts)
    for reach in range(len(texts) + 1):
        first, last = max(0, hunk.first - reach), min(len(texts), hunk.last + reach)
        old = "\n".join(texts[first:last])
        if old.strip() and whole.count(old) == 1:
            return old, "\n".join([*texts[first : hunk.first], *hunk.texts, *texts[hunk.last : last]])
    return None


def author(text: str, who: Who, old: Sequence[Line], gone: Sequence[Line], back: set[str]) -> Who:
    """Return the author of a line that ``who`` wrote over ``old``; ``gone`` is removed text, ``back`` may return."""
    squashed = squeezed(text)
    same = {line.who for line in old if squeezed(line.text) == squashed}
    if same and squashed:
        return same.pop() if len(same) == 1 else EITHER
    others = [line for line in old if line.who != who]
    if says_little(text):
        return who
    moved = any(squeezed(line.text) == squashed for line in gone if line.who != who)
    return EITHER if moved or squashed in back or reworded(text, others) else who


def reworded(text: str, others: Sequence[Line]) -> bool:
    """Return whether much of ``text`` was in one line of ``others``, or nearly all of it in all of them."""
    words = Counter(WORD.findall(text))
    if not words:
        return False
    single = max((_shared(words, line.text) for line in others), default=0.0)
    return single >= REWORDED_MIN or _shared(words, " ".join(line.text for line in others)) >= GATHERED_MIN


def _shared(words: Counter[str], text: str) -> float:
    return (words & Counter(WORD.findall(text))).total() / words.total()


def squeezed(text: str) -> str:
    """Remove the white space of a line."""
    return "".join(text.split())


def neatened(page: Page) -> Page:
    """Run the formatter until the file no longer changes."""
    for _ in range(TIMES_FORMATTED):
        page = formatted(page, WIDTH)
    return page


def histories(count: int, seed: int, versions: Versions) -> Iterator[Scenario]:
    """Return ``count`` stories, each with its own seed."""
    for n in range(count):
        yield Scenario(
            f"random-{seed}-{n}", f"a history by chance, number {n} of seed {seed}", a_play(seed, n, versions)
        )


def a_play(seed: int, n: int, versions: Versions) -> Play:
    """Return one history."""

    def play(world: World) -> None:
        random = Random(f"{seed} {n}")
        name, texts = versions(random, VERSIONS)
        replay = Replay(world, random, name)
        replay.begin(texts[0])
        for text in texts[1:-1]:
            one_step(replay, text)
        replay.reach(texts[-1])
        if not replay.chance(LEFT_OPEN):
            world.commit("the end")

    return play


def one_step(replay: Replay, text: str) -> None:
    """Play one version, the events around it, and usually a commit."""
    replay.reach(text)
    for often, happens in (
        (REMARKED, replay.remark),
        (0.0 if replay.neat else REFORMATTED, replay.tidy),
        (RENAMED, replay.rename),
        (STASHED, replay.stash),
    ):
        if replay.chance(often):
            happens()
    if not replay.world.teller.real_time() and replay.chance(DAYS_PASS):
        replay.world.clock.skip(days=replay.random.random() * 3)
    if not replay.chance(NO_COMMIT):
        replay.keep()
