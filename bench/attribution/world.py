"""A real repository in which people and agents work, with the truth kept beside every file.

Actors change the disk and the truth by the same words; git's own operations only move what is already known, and
:meth:`World.settle` takes their result over by the text of the lines. The disk is compared with the truth after every
step: a scenario that describes something else than it does is refused.
"""

import os
import shlex
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from bench.attribution import claude
from bench.attribution.telling import Clock, Silent, Teller, Told, ran
from bench.attribution.truth import (
    EITHER,
    NEW,
    PERSON,
    Declared,
    Line,
    Page,
    Reshaping,
    Who,
    lines_of,
    overwritten,
    page_of,
    put,
    replaced,
    says_little,
    the_agent,
    told_by_neighbors,
)
from bench.bars import BenchError

NAME, EMAIL = "Ana Person", "ana@example.org"
LEFT_ALONE = "".join(f"/.{name}/\n" for name in ("agent-trace", "claude", "codex", "cursor"))
MARKS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
Pages = dict[str, Page]
NOTHING_MORE: Mapping[str, str] = MappingProxyType({})


def surroundings(home: Path) -> dict[str, str]:
    """Return an environment that hides this machine's settings from git and custody."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": NAME,
        "GIT_AUTHOR_EMAIL": EMAIL,
        "GIT_COMMITTER_NAME": NAME,
        "GIT_COMMITTER_EMAIL": EMAIL,
        "GIT_EDITOR": "true",
        "GIT_SEQUENCE_EDITOR": ":",
    }


@dataclass
class World:
    """A work tree with its repository; ``pages`` is the truth of every file in it, ``commits`` that of every commit."""

    folder: Path
    environment: dict[str, str]
    teller: Teller
    clock: Clock
    pages: Pages = field(default_factory=dict)
    commits: dict[str, Pages] = field(default_factory=dict)
    known: dict[str, set[Who]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)

    # Reading and moving in the repository.

    def git(self, *words: str, given: bytes = b"", extra: Mapping[str, str] = NOTHING_MORE) -> str:
        """Run ``git <words>`` and return its output; commits get the time of the story."""
        if self.clock.skipped or not self.teller.real_time():
            at = f"{int(self.clock.now())} +0000"
            extra = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at, **extra}
        said: bytes = ran(["git", *words], self.folder, {**self.environment, **extra}, given)
        return said.decode()

    def git_stops(self, *words: str) -> None:
        """Run ``git <words>``, which must stop and wait, as at a conflict."""
        done = subprocess.run(
            ["git", *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        if not done.returncode:
            raise BenchError(f"'git {' '.join(words)}' did not stop")

    def head(self) -> str:
        """Return the commit that HEAD names."""
        return self.git("rev-parse", "HEAD").strip()

    def commit(self, message: str = "a change", *words: str, extra: Mapping[str, str] = NOTHING_MORE) -> str:
        """Commit the whole work tree as it is, and remember its truth."""
        self.git("add", "--all")
        return self.commit_staged(dict(self.pages), message, *words, extra=extra)

    def commit_staged(self, pages: Pages, message: str, *words: str, extra: Mapping[str, str] = NOTHING_MORE) -> str:
        """Commit the index, which must contain ``pages``."""
        self.git("commit", "--quiet", "--allow-empty", "--message", message, *words, extra=extra)
        return self.remember(pages)

    def amend(self, *words: str) -> str:
        """Fold the work tree into the last commit."""
        return self.commit("amended", "--amend", *words)

    def remember(self, pages: Pages) -> str:
        """Check that HEAD contains exactly ``pages``."""
        head = self.head()
        self.commits[head] = dict(pages)
        return head

    def switch(self, branch: str, *words: str) -> None:
        """Check out a branch; its commit's truth becomes the current one."""
        self.git("checkout", "--quiet", *words, branch)
        self.pages = dict(self.commits[self.head()])
        self.check()

    def settle(self, pages: Mapping[str, Page] | None = None) -> str:
        """Accept the result after git moved lines and committed: the work tree and HEAD."""
        self.take_over(pages)
        return self.remember(self.pages)

    def take_over(self, pages: Mapping[str, Page] | None = None) -> None:
        """Accept the work tree after git moved lines in it.

        A line is whose it always was. Where two authors wrote the same text, ``pages`` must say how the file is.
        """
        said = pages or {}
        listed = self.git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
        here = sorted({name for name in listed if name and (self.folder / name).is_file()})
        self.pages = {name: said[name] if name in said else self._recognised(name) for name in here}
        self.check()

    def take_conflict(self, name: str) -> None:
        """Read a file in which git left conflict markers; these have no author."""
        for text in self.path(name).read_text(encoding="utf-8").split("\n"):
            if text.startswith(MARKS):
                self.known[text] = {EITHER}
        self.hold(name, self._recognised(name))

    def _recognised(self, name: str) -> Page:
        text = (self.folder / name).read_bytes().decode()
        eol = "\r\n" if "\r\n" in text else "\n"
        ended = text.endswith("\n")
        texts = text.removesuffix(eol).split(eol) if text else []
        found = [Line(one, self._author(name, one)) for one in texts]
        return Page(tuple(told_by_neighbors(found, self.known)), eol, ended)

    def _author(self, name: str, text: str) -> Who:
        authors = self.known.get(text, set())
        if len(authors) == 1:
            return next(iter(authors))
        if authors and says_little(text):
            return EITHER
        raise BenchError(f"'{name}' has the line {text!r} of {len(authors)} authors: say whose it is")

    # Changing files and their truth together.

    def path(self, name: str) -> Path:
        """Return the path of a file on disk."""
        return self.folder / name

    def lay(self, name: str, page: Page) -> None:
        """Write a file and its truth."""
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_bytes(page.text.encode())
        self.hold(name, page)

    def hold(self, name: str, page: Page) -> None:
        """Record that the file on disk must be ``page``."""
        self.pages[name] = page
        for line in page.lines:
            self.known.setdefault(line.text, set()).add(line.who)
        self.check_one(name)

    def check(self) -> None:
        """Check that the disk agrees with the truth; otherwise the scenario does not do what it declares."""
        for name in self.pages:
            self.check_one(name)

    def check_one(self, name: str) -> None:
        """Check that one file on disk agrees with the truth."""
        found = self.path(name).read_bytes().decode()
        if found != self.pages[name].text:
            raise BenchError(f"'{name}' on disk is not what was said:\n{found}\n--- said\n{self.pages[name].text}")

    # Actors.

    @property
    def person(self) -> "Person":
        """Return a person who works without an agent."""
        return Person(self)

    def agent(self, name: str = "one", model: str = "claude-sonnet-4-5", *, unix_ends: bool = False) -> "Agent":
        """Return an agent in the session called ``name``."""
        return Agent(self, claude.session_id(f"{self.folder.name} {name}"), model, unix_ends)

    def turn_ends(self, name: str, eol: str) -> None:
        """Give every line of a file another line end; the lines keep their authors."""
        self.lay(name, replace(self.pages[name], eol=eol))

    def worktree(self, folder: Path, *words: str) -> "World":
        """Return a further work tree of the same repository; evidence and truth are shared."""
        self.git("worktree", "add", "--quiet", str(folder), *words)
        other = World(
            folder,
            self.environment,
            self.teller,
            self.clock,
            {},
            self.commits,
            self.known,
            self.calls,
            self.sessions,
        )
        other.pages = dict(self.commits[other.head()])
        other.check()
        return other


@dataclass(frozen=True, slots=True)
class Person:
    """A person at an editor: changes files, and reports nothing."""

    world: World
    who: Who = PERSON

    def write(self, name: str, text: str, declared: Declared = NEW, eol: str = "\n") -> None:
        """Write a whole file."""
        old = self.world.pages.get(name)
        fresh = page_of(text, self.who, eol)
        if old is not None:
            texts = [line.text for line in fresh.lines]
            fresh = old.with_lines(overwritten(old.lines, texts, self.who, declared))
        self.world.lay(name, fresh)

    def edit(self, name: str, old: str, new: str, declared: Declared = NEW) -> None:
        """Replace a string that occurs once in the file."""
        self.world.lay(name, replaced(self.world.pages[name], old, new, self.who, declared))

    def append(self, name: str, text: str) -> None:
        """Add lines at the end."""
        page = self.world.pages[name]
        self.world.lay(name, page.with_lines((*page.lines, *lines_of(text, self.who))))

    def insert(self, name: str, after: str, text: str) -> None:
        """Add lines below the block ``after``."""
        page = self.world.pages[name]
        end = page.at(after)[1]
        self.world.lay(name, put(page, (end, end), lines_of(text, self.who)))

    def insert_at(self, name: str, place: int, text: str) -> None:
        """Add lines so that the first of them is line ``place``, from 0."""
        self.world.lay(name, put(self.world.pages[name], (place, place), lines_of(text, self.who)))

    def delete(self, name: str, block: str) -> None:
        """Remove the lines of ``block``."""
        page = self.world.pages[name]
        self.world.lay(name, put(page, page.at(block), ()))

    def remove(self, name: str) -> None:
        """Delete a file."""
        self.world.path(name).unlink()
        del self.world.pages[name]

    def rename(self, old: str, new: str) -> None:
        """Rename a file; its lines keep their authors."""
        target = self.world.path(new)
        target.parent.mkdir(parents=True, exist_ok=True)
        self.world.path(old).rename(target)
        self.world.hold(new, self.world.pages.pop(old))

    def move(self, block: str, source: str, target: str, after: str) -> None:
        """Move the lines of ``block`` below ``after``; they keep their authors."""
        page = self.world.pages[source]
        span = page.at(block)
        carried = page.lines[span[0] : span[1]]
        self.world.lay(source, put(page, span, ()))
        there = self.world.pages[target]
        end = there.at(after)[1]
        self.world.lay(target, put(there, (end, end), carried))

    def reshape(self, name: str, change: Reshaping) -> None:
        """Run a tool that reports which line comes from which: a formatter, an indenter."""
        self.world.lay(name, change(self.world.pages[name]))


@dataclass(frozen=True, slots=True)
class Agent:
    """Claude Code in one session: changes files and sends its hook events to the receiver."""

    world: World
    session: str
    model: str
    unix_ends: bool = False
    """Whether it reads and reports every line end as ``\\n``, whatever is on disk."""

    @property
    def who(self) -> Who:
        """The author of its lines."""
        return the_agent(self.session)

    def edit(self, name: str, old: str, new: str, declared: Declared = NEW) -> None:
        """Replace a string that occurs once in the file, with the Edit tool."""
        self.edit_as(name, old, new, replaced(self.world.pages[name], old, new, self.who, declared))

    def edit_as(self, name: str, old: str, new: str, after: Page, *, everywhere: bool = False) -> None:
        """Use the Edit tool, which leaves the file as ``after``."""
        before = self.world.pages[name]
        old, new = self._ends(old, before), self._ends(new, before)
        given = {"file_path": self._named(name), "old_string": old, "new_string": new, "replace_all": everywhere}
        call = self._begin("Edit", given)
        self.world.lay(name, after)
        response = claude.edit_response(self._named(name), self._read(before), old, new, everywhere=everywhere)
        self._finish("Edit", given, response, call)

    def replace_all(self, name: str, old: str, new: str) -> None:
        """Replace a word everywhere; the author of the changed lines is disputed."""
        page = self.world.pages[name]
        changed = (
            Line(line.text.replace(old, new), EITHER if line.who != self.who else line.who)
            if old in line.text
            else line
            for line in page.lines
        )
        self.edit_as(name, old, new, page.with_lines(changed), everywhere=True)

    def write(self, name: str, text: str, declared: Declared = NEW, eol: str = "\n") -> None:
        """Write a whole file with the Write tool."""
        before = self.world.pages.get(name)
        after = page_of(text, self.who, eol)
        if before is not None:
            texts = [line.text for line in after.lines]
            after = before.with_lines(overwritten(before.lines, texts, self.who, declared))
        self.write_as(name, after)

    def write_as(self, name: str, after: Page) -> None:
        """Use the Write tool, which leaves the file as ``after``."""
        before = self.world.pages.get(name)
        given = {"file_path": self._named(name), "content": self._read(after)}
        call = self._begin("Write", given)
        self.world.lay(name, after)
        was = None if before is None else self._read(before)
        self._finish("Write", given, claude.write_response(self._named(name), was, self._read(after)), call)

    def bash(
        self, command: str, makes: Mapping[str, Page] | None = None, *, without: Collection[str] = (), kind: str = ""
    ) -> None:
        """Run a shell command, which leaves the files as ``makes`` says and removes those in ``without``.

        ``kind`` is what it did to HEAD, if anything: committed, amended or cherry-picked.
        """
        given = {"command": command, "description": "run it"}
        call = self._begin("Bash", given)
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.world.folder,
            env=self.world.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise BenchError(f"'{command}' ended with {done.returncode}: {done.stderr.strip()}")
        for name in without:
            del self.world.pages[name]
        for name, page in (makes or {}).items():
            self.world.hold(name, page)
        commit = {"sha": self.world.head()[:7], "kind": kind, "branch": "main"} if kind else None
        self._finish("Bash", given, claude.bash_response(done.stdout, done.stderr, commit), call)

    def commit(self, message: str = "the agent's change") -> str:
        """Commit the whole work tree from the agent's own shell."""
        self.bash(f"git add --all && git commit --quiet --message {shlex.quote(message)}", kind="committed")
        return self.world.remember(self.world.pages)

    def _ends(self, text: str, page: Page) -> str:
        return text if self.unix_ends else text.replace("\n", page.eol)

    def _read(self, page: Page) -> str:
        return page.text.replace(page.eol, "\n") if self.unix_ends else page.text

    def _named(self, name: str) -> str:
        return str(self.world.path(name))

    def _begin(self, tool: str, given: claude.Event) -> str:
        if self.session not in self.world.sessions:
            self.world.sessions.add(self.session)
            self._tell("SessionStart", source="startup", model=self.model)
            self._tell("UserPromptSubmit", prompt="please make the change that we spoke of")
        call = f"toolu_{len(self.world.calls):06d}{self.session[:8]}"
        self.world.calls.append(call)
        self._tell("PreToolUse", tool_name=tool, tool_input=given, tool_use_id=call)
        return call

    def _finish(self, tool: str, given: claude.Event, response: claude.Event, call: str) -> None:
        self._tell("PostToolUse", tool_name=tool, tool_input=given, tool_response=response, tool_use_id=call)

    def _tell(self, event: str, **fields: object) -> None:
        said = {
            "session_id": self.session,
            "transcript_path": f"{self.world.environment['HOME']}/{self.session}.jsonl",
            "cwd": str(self.world.folder),
            "permission_mode": "acceptEdits",
            "hook_event_name": event,
            **fields,
        }
        self.world.teller.tell(said, Told(self.world.clock.now(), self.model))


def a_world(folder: Path, teller: Teller | None = None) -> World:
    """Make a repository with an empty first commit on the branch ``main``, and set up its receiver of events."""
    teller = teller or Silent()
    home, place = folder / "home", folder / "work"
    home.mkdir(parents=True)
    place.mkdir()
    world = World(place, surroundings(home), teller, Clock(real=teller.real_time()))
    world.git("init", "--quiet", "--initial-branch=main")
    (place / ".git" / "info" / "exclude").write_text(LEFT_ALONE, encoding="utf-8")
    world.git("commit", "--quiet", "--allow-empty", "--message", "begin")
    world.remember({})
    world.environment.update(teller.begin(place, world.environment))
    return world
