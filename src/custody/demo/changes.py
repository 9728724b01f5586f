"""The history of the sample repository and the six proposed changes."""

import json
from pathlib import Path
from typing import Any

from msgspec import Struct

from custody.demo import project
from custody.demo.agents import (
    AGENT,
    MODEL,
    PATCHBOT,
    ClaudeSession,
    EventSink,
    PatchbotSession,
    commit_sandbox_files,
    write_sample_transcript,
)
from custody.demo.agents import PATCHBOT_MODEL as PATCH_MODEL
from custody.demo.sandbox import Sandbox

SECRET = "ghp_" + "Zq8Lw3Rt6Yb1Nv5Mx0Kd" + "9Hs2Fp7Jc4Ug8Qe"
"""Made up for this story; it must not be found anywhere in the store."""
OLD_SESSION = "1a2b3c4d-0000-4000-8000-000000000001"
FIRST_SESSION = "7d5a1c2e-0000-4000-8000-000000000002"
REPORT_SESSION = "9e8f7a6b-0000-4000-8000-000000000003"
CLEAN_SESSION = "c0ffee00-0000-4000-8000-000000000004"
FIX_SESSION = "f1f1f1f1-0000-4000-8000-000000000005"
TRACE = "550e8400-e29b-41d4-a716-446655440000"
CLEAN, AGAIN, REWRITE = "clean/format-price", "again/add-up", "rewrite/read-prices"
BACKPORT, FORGED, REPORT = "backport/tax-rate", "forged/discounts", "report/rounding"
SNEAKY = "again/tidy-up"
RELEASE = "release/1.0"
CLOSES = "Closes #12"


class SampleHistory(Struct, frozen=True):
    """Creates the history of the repository, step by step."""

    place: Sandbox
    record: EventSink
    hook: EventSink

    def create_past(self) -> None:
        """Create the history before custody: commits of a person, and a session without a recording."""
        place = self.place
        place.git("init", "--quiet", "--initial-branch=main", "--template=")
        self._put("README.md", project.README)
        self._put("src/till/__init__.py", "")
        self._put("src/till/basket.py", project.BASKET)
        commit_sandbox_files(place, "Begin the till", author="Ana")
        place.clock.set_time("2026-03-02 10:00")
        write_sample_transcript(place, OLD_SESSION, "add value added tax", "src/till/tax.py", project.TAX)
        self._put("src/till/tax.py", project.TAX)
        place.clock.set_time("2026-03-02 10:30")
        commit_sandbox_files(place, "Add value added tax", author="Ana")
        place.git("branch", RELEASE)
        place.clock.set_time("2026-03-02 11:00")
        self._put("README.md", project.README + project.TESTS_RUN)
        commit_sandbox_files(place, "Say how the tests run", author="Ana")
        place.clock.set_time("2026-03-03 09:00")

    def create_present(self) -> None:
        """Create the work of two agents and a person, up to six proposed changes."""
        self._reviews()
        self._first_session()
        self._by_hand()
        self._fix()
        self._propose()

    def repeat_rejected_change(self) -> None:
        """Commit the diff of a rejected change again, with another message and author."""
        self.place.git("checkout", "--quiet", "-b", SNEAKY, AGAIN)
        self.place.clock.advance(60)
        self.place.git("commit", "--quiet", "--amend", "--reset-author", "-m", "Tidy up the basket", author="Zoe")
        self.place.git("checkout", "--quiet", "main")

    def _first_session(self) -> None:
        """Let Claude Code work on the main branch."""
        self.place.clock.set_time("2026-03-03 09:10")
        session = ClaudeSession(self.place, self.hook, FIRST_SESSION)
        session.start(f"read prices as people type them; the token for the tracker is {SECRET}")
        session.read("src/till/basket.py")
        session.write("src/till/prices.py", project.PRICES)
        session.write("tests/test_prices.py", project.TEST_PRICES)
        session.bash("pytest -q", "4 passed\n")
        session.commit(f"Read prices as people type them\n\n{CLOSES}")
        session.end()

    def _by_hand(self) -> None:
        """Let a person add a function."""
        self.place.clock.set_time("2026-03-03 10:30")
        self._put("src/till/basket.py", project.BASKET + project.BY_HAND)
        commit_sandbox_files(self.place, "Add up a basket", author="Ana")

    def _fix(self) -> None:
        """Let Claude Code fix its code from before custody."""
        self.place.clock.set_time("2026-03-03 14:00")
        session = ClaudeSession(self.place, self.hook, FIX_SESSION)
        session.start("a negative tax rate must be refused")
        session.read("src/till/tax.py")
        last = project.TAX.splitlines(keepends=True)[-1]
        session.edit("src/till/tax.py", last, project.TAX_FIX + last)
        session.bash("pytest -q", "4 passed\n")
        session.commit("Refuse a negative tax rate")
        session.end()

    def _propose(self) -> None:
        """Create the six changes, each on its own branch."""
        self._again()
        self._rewrite()
        self._backport()
        self._forged()
        self._report()
        self._clean()
        self.place.git("checkout", "--quiet", "main")
        self.place.clock.set_time("2026-03-04 16:00")

    def _again(self) -> None:
        """Repeat a merged diff."""
        self._branch("2026-03-04 09:00", AGAIN, "main~2")
        bot = PatchbotSession(self.place, self.record, "again")
        bot.start("a basket needs a total")
        bot.write("src/till/basket.py", project.BASKET + project.BY_HAND)
        self.place.clock.advance(60)
        commit_sandbox_files(self.place, "Sum the prices of a basket", author="Patchbot")

    def _rewrite(self) -> None:
        """Solve the same problem with other code."""
        self._branch("2026-03-04 10:00", REWRITE, "main~3")
        bot = PatchbotSession(self.place, self.record, "rewrite")
        bot.start("users type prices with a comma: make the till understand them (#12)")
        bot.write("src/till/prices.py", project.REWRITTEN_PRICES)
        bot.write("tests/test_prices.py", project.REWRITTEN_TESTS)
        self.place.clock.advance(60)
        commit_sandbox_files(
            self.place, f"Read prices as people type them, by a pattern\n\n{CLOSES}", author="Patchbot"
        )

    def _backport(self) -> None:
        """Bring a fix from main to the release."""
        self._branch("2026-03-04 11:00", BACKPORT, RELEASE)
        self.place.git("cherry-pick", "-x", "main")

    def _forged(self) -> None:
        """Add code of a stranger, with a forged trace that names Claude Code as the author."""
        self._branch("2026-03-04 13:00", FORGED, "main")
        self._put("src/till/discounts.py", project.DISCOUNTS)
        commit = commit_sandbox_files(self.place, "Add discounts", author="Mallory")
        lines = len(project.DISCOUNTS.splitlines())
        wrote = {
            "contributor": {"type": "ai", "model_id": MODEL},
            "ranges": [{"start_line": 1, "end_line": lines}],
        }
        trace = {
            "version": "0.1.0",
            "id": TRACE,
            "timestamp": "2026-03-04T12:55:00Z",
            "vcs": {"type": "git", "revision": commit},
            "tool": {"name": AGENT, "version": "2.1.39"},
            "files": [{"path": "src/till/discounts.py", "conversations": [wrote]}],
        }
        redated = {**trace, "timestamp": "2026-02-20T12:55:00Z"}
        self._lines("traces.jsonl", [trace, redated])

    def _report(self) -> None:
        """Let Claude Code write a report without citations."""
        self._branch("2026-03-04 14:00", REPORT, "main")
        session = ClaudeSession(self.place, self.hook, REPORT_SESSION)
        session.start("find out how other tills round, and write a report")
        session.fetch("https://example.org/rounding", "Tills round lines or sums. Both are allowed.")
        session.write("docs/reports/rounding.md", project.REPORT)
        session.commit("Report on rounding")
        session.end()

    def _clean(self) -> None:
        """Let Claude Code make a small change, recorded from the prompt to the commit."""
        self._branch("2026-03-04 15:00", CLEAN, "main")
        session = ClaudeSession(self.place, self.hook, CLEAN_SESSION)
        session.start("show prices on a receipt with a comma")
        session.read("src/till/prices.py")
        last = project.PRICES.splitlines(keepends=True)[-1]
        session.edit("src/till/prices.py", last, last + project.FORMATTED)
        session.edit("tests/test_prices.py", "import parse_price", "import format_price, parse_price")
        tail = project.TEST_PRICES.splitlines(keepends=True)[-1]
        session.edit("tests/test_prices.py", tail, tail + project.TEST_FORMATTED)
        session.bash("pytest -q", "5 passed\n")
        session.commit("Show prices on a receipt")
        session.end()

    def _reviews(self) -> None:
        """Record reviews of earlier changes of both agents, sent by the code host as generic events."""
        decisions = [(AGENT, MODEL, "accepted")] * 11 + [(AGENT, MODEL, "modified")]
        decisions += [(PATCHBOT, PATCH_MODEL, "accepted")] + [(PATCHBOT, PATCH_MODEL, "rejected")] * 2
        self._branch("2026-02-10 12:00", "earlier", "main")
        for number, decision in enumerate(decisions, 1):
            self._put("notes.md", f"Note {number}.\n" * number)
            commit = commit_sandbox_files(self.place, f"Change {number}", author="Ana")
            self.record("reviews", self._decision(number, commit, *decision))
        self.place.git("checkout", "--quiet", "main")

    def _decision(self, number: int, commit: str, agent: str, model: str, decision: str) -> dict[str, Any]:
        return {
            "custody": 1,
            "kind": "decision",
            "id": f"review-{number}",
            "at": f"2026-02-{9 + number:02}T12:00:00Z",
            "agent": agent,
            "model": model,
            "decision": decision,
            "commit": commit,
            "actor": "ana",
            "changed_lines": 40,
            "review_ms": 300_000,
        }

    def _branch(self, time: str, name: str, start: str) -> None:
        self.place.clock.set_time(time)
        self.place.git("checkout", "--quiet", "-b", name, start)

    def _put(self, path: str, content: str) -> None:
        file = self.place.repository / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)

    def _lines(self, name: str, values: list[dict[str, Any]]) -> Path:
        file = self.place.folder / name
        file.write_text("".join(f"{json.dumps(value)}\n" for value in values))
        return file
