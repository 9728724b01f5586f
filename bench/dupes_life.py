"""The life of many branches, played in a repository: what duplicate search calls a duplicate in it.

Branches are amended, force-pushed, stacked, rebased, brought up to date with main, backported, reverted, relanded,
squashed, renamed, and pushed under two names. The index is updated between the acts. At the end every branch, every
commit of main and every cluster is compared with what really happened: only copies by another author are duplicates.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import TextIO

from bench.attribution.world import surroundings
from bench.progress import Progress, Tell
from custody.dupes.app.check import dupes_check
from custody.dupes.app.cluster import dupes_cluster
from custody.dupes.app.index import IndexRequest, dupes_index
from custody.workspace.workspace import Workspace

START = 1_700_000_000
FILES, FUNCTIONS = 30, 8
WORDS = tuple(
    f"{first}_{second}"
    for first in "read write merge split parse send load store check count sort find".split()
    for second in "order basket price label route token queue page event frame batch chart".split()
)
AUTHORS = ("Ana", "Ben", "Cleo", "Devin AI", "copilot-swe-agent[bot]", "Claude", "cursor", "Jules")
KINDS = (
    *("plain", "amend", "force-push", "stack", "rebase", "update", "merge", "squash", "custom-squash", "rebase-merge"),
    *("backport", "revert", "reland", "two-names", "rename", "renamed-file", "series", "copy"),
)
"""What happens to a branch; a *copy* is a duplicate, nothing else is."""

Text = Mapping[tuple[str, int], str]
"""The functions of a project by file and place."""


@dataclass
class Branch:
    """A branch with its content as changes of functions, and the branches that it is a true duplicate of."""

    name: str
    kind: str
    author: str
    title: str
    edits: dict[tuple[str, int], str]
    head: str = ""
    base: str = ""
    written: int = 0
    copies: set[str] = field(default_factory=set)


@dataclass
class LifeResult:
    """The verdicts of a played life: planted copies that were found and missed, and false duplicates by kind."""

    branches: int = 0
    checks: int = 0
    planted: int = 0
    found: int = 0
    false: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    explained: Counter[str] = field(default_factory=Counter)
    missing_in_clusters: int = 0


class Life:
    """A repository in which branches live."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.random = random.Random(seed)
        self.now = START
        self.number = 0
        self.branches: list[Branch] = []
        self.trees: dict[str, dict[tuple[str, int], str]] = {}
        self.git("init", "-q", "-b", "main", ".")
        self.state = {(f"src/part_{f}.py", n): self._function(f, n) for f in range(FILES) for n in range(FUNCTIONS)}
        self.main = self.commit(self.state, [], "Start", "Ana", "refs/heads/main")
        self.release = self.commit(
            {**self.state, ("src/version.py", 0): "version = 1\n"}, [self.main], "Release 1.x", "Ana", "refs/heads/1.x"
        )
        self.untouched = set(self.state)
        self.live: dict[str, str] = {}
        self.owners: dict[str, Branch] = {}

    def git(self, *arguments: str, feed: str = "") -> str:
        """Run git in the repository."""
        answer = subprocess.run(
            ("git", *arguments),
            cwd=self.folder,
            env=surroundings(self.folder),
            input=feed.encode(),
            capture_output=True,
            check=True,
        )
        return answer.stdout.decode()

    def commit(
        self, state: Text, parents: Sequence[str], message: str, author: str, ref: str, *, written: int | None = None
    ) -> str:
        """Commit a state of the project, a minute after the last commit; a rewritten commit keeps its author's time."""
        self.now += 60
        files: dict[str, list[str]] = {}
        for path, _ in sorted(state):
            files.setdefault(path, [])
        for (path, _), text in sorted(state.items()):
            files[path].append(text)
        who = f"{author} <{author.split(maxsplit=1)[0].lower().strip('[]')}@example.invalid>"
        lines = [f"commit {ref}", "mark :1", f"author {who} {written or self.now} +0000"]
        lines.append(f"committer {who} {self.now} +0000")
        lines += [f"data {len(message.encode())}", message]
        lines += [f"{'from' if at == 0 else 'merge'} {parent}" for at, parent in enumerate(parents)]
        lines.append("deleteall")
        for path, texts in files.items():
            content = "\n\n".join(texts)
            lines += [f"M 100644 inline {path}", f"data {len(content.encode())}", content]
        lines += ["", "get-mark :1", ""]
        sha = self.git("fast-import", "--quiet", "--force", feed="\n".join(lines)).strip()
        self.trees[sha] = dict(state)
        return sha

    def _function(self, file: int, place: int) -> str:
        body = [self._line() for _ in range(5)]
        return "\n".join([f"def part_{file}_{place}(state, options):", *body, "    return state\n"])

    def _line(self) -> str:
        target, first, second = self.random.sample(WORDS, 3)
        return f"    {target}_{self.random.randrange(9999)} = {first}(state.{second}, options.{target})"

    def edit(self, old: str) -> str:
        """Return a function with three more lines in it."""
        lines = old.split("\n")
        at = self.random.randrange(1, len(lines) - 2)
        return "\n".join([*lines[:at], *(self._line() for _ in range(3)), *lines[at:]])

    def new_branch(self, kind: str, *, ref: str | None = None, author: str | None = None) -> Branch:
        """Return a branch with an edit of two functions that no other branch touches, as long as there are some."""
        self.number += 1
        if len(self.untouched) < 2:
            self.untouched = set(self.state)
        spots = self.random.sample(sorted(self.untouched), 2)
        self.untouched -= set(spots)
        title = f"{self.random.choice(WORDS).replace('_', ' ').capitalize()} in step {self.number}"
        branch = Branch(
            ref or f"refs/pull/{self.number}/head",
            kind,
            author or self.random.choice(AUTHORS),
            title,
            {spot: self.edit(self.state[spot]) for spot in spots},
        )
        self.branches.append(branch)
        return branch

    def push(self, branch: Branch, *, on: str | None = None, message: str = "", name: str | None = None) -> str:
        """Commit the edits of a branch on a commit, by default on main."""
        branch.base = on or self.main
        branch.written = branch.written or self.now + 60
        state = {**self.trees[branch.base], **branch.edits}
        branch.head = self.commit(
            state,
            [branch.base],
            message or branch.title,
            branch.author,
            name or branch.name,
            written=branch.written,
        )
        self._name(branch, name or branch.name)
        return branch.head

    def _name(self, branch: Branch, name: str) -> None:
        self.live[name] = branch.head
        self.owners[branch.head] = branch

    def name(self, branch: Branch, name: str) -> None:
        """Give the head of a branch another name."""
        self.git("update-ref", name, branch.head)
        self._name(branch, name)

    def unname(self, name: str) -> None:
        """Delete a ref."""
        self.git("update-ref", "-d", name)
        del self.live[name]

    def work_on_main(self) -> None:
        """Commit an edit to main, as others do meanwhile."""
        spot = self.random.choice(sorted(self.untouched or self.state))
        self.untouched.discard(spot)
        self._advance({spot: self.edit(self.state[spot])}, f"Work on {spot[0]} {self.number}", "Mia", [])

    def _advance(self, edits: Text, message: str, author: str, merged: Sequence[str]) -> str:
        self.state = {**self.state, **edits}
        self.main = self.commit(self.state, [self.main, *merged], message, author, "refs/heads/main")
        self.owners.setdefault(self.main, Branch("refs/heads/main", "main", author, message, dict(edits)))
        return self.main

    def land(self, branch: Branch, message: str, *, merge: bool = False, author: str | None = None) -> str:
        """Bring the edits of a branch to main, as a merge or as one commit; the commit belongs to the branch."""
        landed = self._advance(branch.edits, message, author or branch.author, [branch.head] if merge else [])
        self.owners[landed] = branch
        return landed

    def play(self, kind: str, tell_index: Iterator[None]) -> None:
        """Play what happens to one branch; the index is updated wherever ``tell_index`` is advanced."""
        branch = self.new_branch(kind)
        number = self.number
        self.push(branch)
        if self.random.random() < 0.5:
            next(tell_index)
        if self.random.random() < 0.5:
            self.work_on_main()
        getattr(self, f"_play_{kind.replace('-', '_')}", lambda *_: None)(branch, number)

    def _play_amend(self, branch: Branch, _: int) -> None:
        spot = next(iter(branch.edits))
        branch.edits[spot] += f"    # {self._line().strip()}\n"
        self.push(branch, on=branch.base)

    def _play_force_push(self, branch: Branch, _: int) -> None:
        branch.edits = {spot: self.edit(text) for spot, text in branch.edits.items()}
        branch.written = 0
        self.push(branch)

    def _play_stack(self, branch: Branch, _: int) -> None:
        above = self.new_branch("stack", author=branch.author)
        self.push(above, on=branch.head)
        if self.random.random() < 0.5:
            # The base is amended below it: the stack still has the old push.
            self._play_amend(branch, 0)

    def _play_rebase(self, branch: Branch, _: int) -> None:
        self.work_on_main()
        self.push(branch)

    def _play_update(self, branch: Branch, _: int) -> None:
        """Press "Update branch" a few times."""
        for _ in range(self.random.randrange(1, 4)):
            self.work_on_main()
            state = {**self.state, **branch.edits}
            message = f"Merge branch 'main' into {branch.name}"
            branch.head = self.commit(state, [branch.head, self.main], message, branch.author, branch.name)
            self._name(branch, branch.name)

    def _play_merge(self, branch: Branch, number: int) -> None:
        self.land(branch, f"Merge pull request #{number} from topic\n\n{branch.title}", merge=True, author="Mia")

    def _play_squash(self, branch: Branch, number: int) -> None:
        self.land(branch, f"{branch.title} (#{number})", author="Mia")

    def _play_custom_squash(self, branch: Branch, _: int) -> None:
        self.land(branch, f"Bring in what {branch.author} did")

    def _play_rebase_merge(self, branch: Branch, _: int) -> None:
        self.land(branch, branch.title)
        if self.random.random() < 0.5:
            self.unname(branch.name)

    def _play_backport(self, branch: Branch, _: int) -> None:
        landed = self.land(branch, branch.title)
        back = self.new_branch("backport", author=self.random.choice(AUTHORS))
        back.edits = dict(branch.edits)
        note = f"\n\n(cherry picked from commit {landed})" if self.random.random() < 0.5 else ""
        self.push(back, on=self.release, message=f"[1.x] {branch.title}{note}")

    def _play_revert(self, branch: Branch, _: int) -> None:
        before = dict(self.state)
        landed = self.land(branch, branch.title)
        revert = self.new_branch("revert")
        revert.edits = {spot: before[spot] for spot in branch.edits}
        named = f"\n\nThis reverts commit {landed}." if self.random.random() < 0.5 else ""
        self.push(revert, message=f'Revert "{branch.title}"{named}')

    def _play_reland(self, branch: Branch, _: int) -> None:
        before = dict(self.state)
        landed = self.land(branch, branch.title)
        self._advance(
            {spot: before[spot] for spot in branch.edits},
            f'Revert "{branch.title}"\n\nThis reverts commit {landed}.',
            "Mia",
            [],
        )
        again = self.new_branch("reland", author=branch.author)
        again.edits = dict(branch.edits)
        self.push(again, message=f"Reland: {branch.title}")

    def _play_two_names(self, branch: Branch, number: int) -> None:
        self.name(branch, f"refs/heads/topic-{number}")
        self.name(branch, f"refs/remotes/origin/topic-{number}")

    def _play_rename(self, branch: Branch, number: int) -> None:
        old, branch.name = branch.name, f"refs/heads/renamed-{number}"
        if self.random.random() < 0.5:
            self.name(branch, branch.name)
        else:
            self._play_amend(branch, number)
        self.unname(old)

    def _play_renamed_file(self, branch: Branch, _: int) -> None:
        spot = next(iter(branch.edits))
        state = {**self.trees[branch.base], **branch.edits}
        moved = {(f"{path[:-3]}_moved.py" if path == spot[0] else path, at): text for (path, at), text in state.items()}
        branch.head = self.commit(moved, [branch.head], "Move it", branch.author, branch.name)
        self._name(branch, branch.name)

    def _play_series(self, branch: Branch, _: int) -> None:
        part = self.new_branch("series", author=branch.author)
        taken = {path for path, _ in branch.edits}
        part.edits = {spot: text for spot, text in part.edits.items() if spot[0] not in taken}
        part.title = branch.title
        self.push(part)

    def _play_copy(self, branch: Branch, _: int) -> None:
        other = next(author for author in AUTHORS if author != branch.author)
        copy = self.new_branch("copy", author=other)
        copy.edits = dict(branch.edits)
        branch.copies.add(copy.name)
        copy.copies.add(branch.name)
        self.push(copy)


def play_life(folder: Path, count: int, seed: int, tell: Tell) -> LifeResult:
    """Play ``count`` branches, index them meanwhile, and return what was called a duplicate."""
    life = Life(folder, seed)
    workspace = Workspace(folder)
    indexing = _index_again_and_again(workspace)
    acts = cycle(KINDS)
    while len(life.branches) < count:
        life.play(next(acts), indexing)
        tell(f"{len(life.branches)} of {count} branches")
    next(indexing)
    return judge_life(life, workspace, tell)


def _index_again_and_again(workspace: Workspace) -> Iterator[None]:
    while True:
        dupes_index(workspace, IndexRequest(workers=1))
        yield


def judge_life(life: Life, workspace: Workspace, tell: Tell) -> LifeResult:
    """Check every branch and every commit of main, and compare the clusters with the checks."""
    result = LifeResult(branches=len(life.branches))
    called: set[frozenset[str]] = set()
    for number, (name, head) in enumerate(sorted(life.live.items())):
        base = "1.x" if life.owners[head].kind == "backport" and life.owners[head].base == life.release else "main"
        called |= _judge_check(life, workspace, f"{base}..{name}", head, result)
        tell(f"{number} of {len(life.live)} checks")
    for head in life.git("log", "--first-parent", "--format=%H", "--max-count=80", "main").split():
        called |= _judge_check(life, workspace, head, head, result)
    planted = {
        frozenset((branch.head, other.head))
        for branch in life.branches
        for other in life.branches
        if other.name in branch.copies
    }
    result.planted, result.found = len(planted), len(planted & called)
    clusters = dupes_cluster(workspace, (), with_landed=True).clusters
    together = [{member.change.head for member in cluster.members} for cluster in clusters]
    result.missing_in_clusters = sum(not any(pair <= members for members in together) for pair in called)
    return result


def _judge_check(life: Life, workspace: Workspace, typed: str, head: str, result: LifeResult) -> set[frozenset[str]]:
    """Check a change; return the pairs that it calls duplicates, and count those that are none."""
    result.checks += 1
    called = set()
    this = life.owners.get(head)
    for suggestion in dupes_check(workspace, typed, limit=20).suggestions:
        evidence = suggestion.evidence
        if not evidence.duplicate:
            result.explained.update(relation.relation for relation in evidence.relations)
            continue
        called.add(frozenset((head, evidence.other.head)))
        other = life.owners.get(evidence.other.head)
        is_copy = this is not None and other is not None and bool({other.name} & this.copies)
        if not is_copy:
            kinds = sorted({one.kind if one else "unknown" for one in (this, other)})
            result.false[" and ".join(kinds)] += 1
            result.examples.append(f"{typed} and {evidence.other.name or evidence.other.head}: {evidence.rule}")
    return called


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Play the life of branches; return 1 if anything but a copy is called a duplicate."""
    out, err = out or sys.stdout, err or sys.stderr
    parser = argparse.ArgumentParser(prog="python -m bench dupes-life", description=__doc__)
    parser.add_argument("--branches", type=int, default=200, help="number of branches (default: 200)")
    parser.add_argument("--seed", type=int, help="repeat a run (default: a new seed)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    seed = random.SystemRandom().randrange(10**6) if args.seed is None else args.seed
    with tempfile.TemporaryDirectory(prefix="custody-life-") as temporary, Progress(err) as tell:
        folder = Path(temporary) / "repo"
        folder.mkdir()
        result = play_life(folder, args.branches, seed, tell)
    out.write(_render(result, seed, as_json=args.json))
    return 1 if result.false or result.missing_in_clusters else 0


def _render(result: LifeResult, seed: int, *, as_json: bool) -> str:
    values = {
        "seed": seed,
        "branches": result.branches,
        "checks": result.checks,
        "copies": result.planted,
        "copies found": result.found,
        "false duplicates": dict(result.false),
        "relations": dict(result.explained.most_common()),
        "duplicates missing in clusters": result.missing_in_clusters,
        "examples": result.examples[:10],
    }
    if as_json:
        return json.dumps(values, indent=2) + "\n"
    return "".join(f"{name}: {value}\n" for name, value in values.items() if value != [])
