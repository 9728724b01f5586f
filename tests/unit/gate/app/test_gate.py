"""A change judged in a real repository: which lines it adds, who wrote them, and what evidence is missing."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from custody.capture.hook.durable import write_spool_event
from custody.capture.hook.event_home import record_capture_gap
from custody.core.errors import InputError
from custody.core.wire.time import format_timestamp
from custody.gate.app.gate import GateRequest, gate
from custody.gate.app.reading_order import ReadingOrder
from custody.gate.cli import render_verdict
from custody.gate.model import CODES
from custody.gate.wire.report import GateReport
from custody.ledger.records import erase_record_bodies
from custody.terminal.screen import Screen
from custody.trust.app.show import trust_list
from custody.workspace.change import resolve_change_range
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.hooks import RECORDED_AGENT, a_recorded_edit, home_of
from tests.builders.repo import NOON, SUBMODULE, Built, Files, a_history, a_repository

NS = 1_000_000_000
OLD = b"one = first(1)\ntwo = second(2)\n"
ADDED = b"alpha = beta(gamma)\ndelta = epsilon(zeta)\n"
NEW = OLD + ADDED


class World:
    """A repository in which a second commit adds two lines to a file, and perhaps more to others."""

    def __init__(self, folder: Path, **others: bytes) -> None:
        self.built: Built = a_repository(folder)
        more = {name.encode(): content for name, content in others.items()}
        self.first, self.second = a_history(self.built, {b"a.py": OLD}, {b"a.py": NEW, **more})
        self.base = self.first
        self.built.checkout()
        self.workspace = Workspace(folder, now_ns=lambda: (NOON + 3600) * NS)

    def proven(self, count: int = 12) -> "World":
        """Give the agent a good record."""
        for number in range(count):
            at = format_timestamp((NOON - 3600 * number) * NS)
            spool_of(self.built.path).put(
                an_event("decision", agent=RECORDED_AGENT, id=f"d{number}", at=at, changed_lines=50, commit=self.first)
            )
        return self

    def edited(self, after: bytes = NEW, *, at: int = NOON + 90, path: str = "a.py", number: int = 1) -> "World":
        """Record that an agent with a good record edited the file so, on top of the first commit."""
        if number == 1:
            self.proven()
        spool_of(self.built.path).put(
            a_recorded_edit(
                path,
                OLD.decode(),
                after.decode(),
                root=self.built.path,
                id=str(number),
                at=format_timestamp(at * NS),
                head=self.first,
            )
        )
        return self

    def said(self, change: str | None = None) -> GateReport:
        return gate(self.workspace, GateRequest(change=f"{self.base}..{self.second}" if change is None else change))

    def rules(self, text: str) -> "World":
        """Set these rules on the base meanwhile."""
        self.base = self.built.commit({b"a.py": OLD, b"custody.toml": text.encode()}, self.first, ref="refs/heads/base")
        return self


def codes(report: GateReport) -> list[str]:
    return [reason.code for reason in report.reasons]


def counts(report: GateReport) -> tuple[int, int, int, int]:
    """Count lines of agents, of both, of persons, and of unknown authors."""
    return report.added.agent, report.added.mixed, report.added.person, report.added.none


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "repository")


class TestVerdict:
    def test_lines_that_an_agent_was_seen_to_write_are_approved(self, world: World) -> None:
        report = world.edited().said()
        assert (report.level, report.outcome, codes(report)) == ("approve", "fine", [])
        assert counts(report) == (2, 0, 0, 0)
        assert (report.base, report.head, report.fork) == (world.first, world.second, world.first)
        assert report.checks == ["integrity", "policy", "attribution", "trust", "citations"]
        (agent,) = report.trust
        assert (agent.agent, agent.tier, agent.samples, agent.lines) == ("claude-code", "verified", 12, 2)
        assert (agent.budget, agent.budget_left, agent.approved) == (500, None, True)

    def test_without_records_the_gate_says_so_and_creates_nothing(self, world: World) -> None:
        report = world.said()
        assert (report.level, codes(report)) == ("review", ["ATTR-UNSEEN"])
        assert report.reasons[0].sentence == "no agent activity has been recorded in this repository"
        assert counts(report) == (0, 0, 0, 2)
        assert not home_of(world.built.path).exists(), "looking must not make anything"

    def test_a_line_that_no_record_shows_has_no_evidence(self, world: World) -> None:
        report = world.edited(OLD + b"alpha = beta(gamma)\n").said()
        assert codes(report) == ["ATTR-NONE"]
        assert report.reasons[0].sentence == "nothing shows who wrote 1 of 2 added lines, first at 'a.py:4'"
        assert counts(report) == (1, 0, 0, 1)

    def test_rules_of_the_repository_decide(self, world: World) -> None:
        assert codes(world.edited().rules("[gate]\ntier_max = 1\n").said()) == ["ATTR-WEAK"]
        assert codes(world.rules("[gate]\ngrade_min = 'witnessed'\n").said()) == ["ATTR-WEAK"]
        assert codes(world.rules("[gate]\nagent_share_max = 0.99\n").said()) == ["ATTR-SHARE"]

    def test_the_profile_in_force_gives_the_answers(self, world: World) -> None:
        report = world.edited().rules("[attribute]\nprofile = 'document'\n").said()
        assert sum(counts(report)) == 2
        assert report.rules_digest != world.rules("").said().rules_digest

    def test_only_block_is_found(self, world: World) -> None:
        report = world.rules('[gate.levels]\nATTR-UNSEEN = "block"\n').said()
        assert (report.level, report.outcome) == ("block", "found")

    def test_the_digest_names_the_rules_of_every_check(self, world: World) -> None:
        others = (
            "",
            "[gate]\ntier_max = 1\n",
            "[attribute]\nnear_lines_max = 1\n",
            "[trust]\nema_alpha = 0.1\n",
            "[dedupe]\ncontain_min = 0.7\n",
            "[cite]\ncoverage_min = 0.1\n",
        )
        digests = [world.rules(rule).said().rules_digest for rule in others]
        assert len(set(digests)) == 6


class TestTrust:
    def test_a_new_agent_needs_a_review(self, world: World) -> None:
        world.edited(number=2)
        report = world.said()
        assert (report.level, codes(report)) == ("review", ["TRUST-SAMPLES"])
        assert report.reasons[0].sentence == "claude-code: the agent has 0 reviews, fewer than 10"

    def test_the_gate_records_nothing_and_spends_nothing(self, world: World) -> None:
        world.edited()
        first, again = world.said(), world.said()
        assert first == again
        assert first.chain_head is not None and first.as_of == format_timestamp((NOON + 3600) * NS)

    def test_what_merged_unseen_is_out_of_the_budget(self, world: World) -> None:
        landed = {"unreviewed": True, "changed_lines": 499, "head": "c" * 40, "areas": ["."], "actor": "ci"}
        world.edited()
        spool_of(world.built.path).put(
            an_event("decision", agent=RECORDED_AGENT, id="u", at=format_timestamp(NOON * NS), **landed)
        )
        report = world.said()
        assert codes(report) == ["TRUST-BUDGET"] * 3
        assert report.local is not None
        assert [agent.left for agent in report.local.budget.left] == [1]
        assert (report.trust[0].approved, report.trust[0].reasons) == (True, []), "the record allows it"

    def test_an_erased_rejection_does_not_let_the_change_merge(self, world: World) -> None:
        world.edited()
        refused = {"decision": "rejected", "commit": world.second}
        spool_of(world.built.path).put(
            an_event("decision", agent=RECORDED_AGENT, id="no", at=format_timestamp(NOON * NS), **refused)
        )
        assert "TRUST-REJECTED" in codes(world.said())
        erase_record_bodies(world.workspace, ["decision:claude-code::decision:no"], who="ana", why="it named a person")
        assert codes(world.said()) == ["TRUST-UNKNOWN"]

    @pytest.mark.parametrize(("at", "told"), [(NOON, ["TRUST-UNKNOWN"]), (NOON - 90 * 24 * 3600, [])])
    def test_an_erased_decision_about_another_agent_counts_while_it_may_use_up_a_budget(
        self, world: World, at: int, told: list[str]
    ) -> None:
        world.edited()
        landed = {"agent": "other", "unreviewed": True, "changed_lines": 1, "head": "c" * 40, "areas": ["."]}
        spool_of(world.built.path).put(an_event("decision", id="u", at=format_timestamp(at * NS), **landed))
        assert codes(world.said()) == []
        erase_record_bodies(world.workspace, ["decision:other::decision:u"], who="ana", why="it named a person")
        assert codes(world.said()) == told

    def test_a_change_of_persons_only_is_not_asked_about(self, world: World) -> None:
        report = world.edited(OLD).said()
        assert (codes(report), report.trust) == (["ATTR-NONE"], [])

    def test_a_cache_is_not_believed(self, world: World) -> None:
        for number in range(120):
            at = format_timestamp((NOON - 60 * number) * NS)
            spool_of(world.built.path).put(
                an_event("decision", agent=RECORDED_AGENT, id=f"r{number}", at=at, decision="rejected")
            )
        world.edited(number=2)
        trust_list(world.workspace)
        with closing(sqlite3.connect(home_of(world.built.path) / "custody.db")) as db, db:
            ((folded,),) = db.execute("SELECT folded FROM trust_standing").fetchall()
            forged = {**json.loads(folded), "score": 0.99, "earned": 0.99}
            db.execute("UPDATE trust_standing SET folded = ?", (json.dumps(forged),))
        assert trust_list(world.workspace).agents[0].stored == 0.99
        assert codes(world.said()) == ["TRUST-UNTRUSTED", "TRUST-SIZE"]


class TestUnseen:
    def test_a_gap_of_the_changes_time_is_reported(self, world: World) -> None:
        world.edited()
        gap(world, NOON + 90, "the disk was full")
        report = world.said()
        assert codes(report) == ["ATTR-UNSEEN"]
        assert report.reasons[0].sentence.endswith("last: the disk was full")

    @pytest.mark.parametrize("at", [NOON + 60 - 30 * 86_400, NOON + 120 + 2 * 3600])
    def test_a_gap_of_another_time_is_not(self, world: World, at: int) -> None:
        world.edited()
        gap(world, at, "long ago, or later")
        assert codes(world.said()) == []

    def test_a_gap_without_a_time_and_one_that_was_counted_now_are_found_in_every_place(self, world: World) -> None:
        world.edited()
        state = Path(os.environ["HOME"]) / ".local/state/custody"
        state.mkdir(parents=True)
        (state / "gaps").write_text("no repository could be found\n")
        assert codes(world.said()) == ["ATTR-UNSEEN"]
        (state / "gaps").unlink()
        assert codes(world.said()) == []
        record_capture_gap(str(world.workspace.home), "much later than the change", dict(os.environ))
        assert codes(world.said()) == []

    def test_who_deletes_the_count_of_a_gap_deletes_nothing(self, world: World) -> None:
        world.edited()
        gap(world, NOON + 90, "the disk was full")
        before = world.said()
        (home_of(world.built.path) / "gaps").unlink()
        assert world.said() == before

    def test_who_clears_away_what_was_set_aside_deletes_nothing(self, world: World) -> None:
        world.edited()
        spool = spool_of(world.built.path).folder
        (spool / f"{(NOON + 90) * NS:020}-1-{'0' * 16}").write_bytes(b"rubbish")
        assert codes(world.said())[0] == "INTEG-DAMAGE"
        shutil.rmtree(spool / "refused")
        report = world.said()
        assert codes(report) == ["ATTR-UNSEEN"]
        assert "was set aside" in report.reasons[0].sentence

    @pytest.mark.parametrize(("at", "expected"), [(NOON + 90, ["ATTR-UNSEEN"]), (NOON - 30 * 86_400, [])])
    def test_an_acknowledged_event_that_is_refused_is_a_gap_of_its_time_and_no_damage(
        self, world: World, at: int, expected: list[str]
    ) -> None:
        world.edited()
        folder = str(spool_of(world.built.path).folder)
        write_spool_event(folder, f"{at * NS:020}-1-{'0' * 16}", b'{"custody":1,"kind":{}}')
        assert codes(world.said()) == expected
        shutil.rmtree(Path(folder) / "refused")
        assert codes(world.said()) == expected, "removing the file hides nothing"

    def test_gaps_that_cannot_be_read_are_not_no_gaps(self, world: World) -> None:
        world.edited()
        (home_of(world.built.path) / "gaps").mkdir()
        report = world.said()
        assert codes(report) == ["INTEG-UNSEEN", "ATTR-UNSEEN"]
        assert report.reasons[0].sentence.startswith("cannot read the store: cannot read '")

    def test_a_record_that_is_gone_from_the_chain_is_reported(self, world: World) -> None:
        world.edited().edited(OLD, number=2)
        assert codes(world.said()) == []
        with closing(sqlite3.connect(home_of(world.built.path) / "custody.db")) as db, db:
            db.execute("DELETE FROM record WHERE seq = 2")
        report = world.said()
        assert (report.level, codes(report)) == ("block", ["INTEG-DAMAGE"])
        assert "record 2 is missing" in report.reasons[0].sentence

    def test_a_database_that_is_gone_is_reported_by_the_heads_that_stayed(self, world: World) -> None:
        world.edited().said()
        (home_of(world.built.path) / "custody.db").unlink()
        first, again = world.said(), world.said()
        assert [report.level for report in (first, again)] == ["block", "block"]
        assert codes(first)[0] == codes(again)[0] == "INTEG-DAMAGE"

    def test_a_store_that_is_not_a_database_is_reported(self, world: World) -> None:
        home_of(world.built.path).mkdir(parents=True)
        (home_of(world.built.path) / "custody.db").write_bytes(b"no database at all" * 1000)
        report = world.said()
        assert set(codes(report)) == {"ATTR-UNSEEN", "DUPE-UNSEEN", "INTEG-DAMAGE"}
        assert [unread.path for unread in report.unread] == ["a.py"]

    def test_a_binary_file_is_unseen(self, tmp_path: Path) -> None:
        report = World(tmp_path / "repository", logo=b"\0\1\2").edited().said()
        assert codes(report) == ["ATTR-UNSEEN", "TRUST-KIND"]
        assert report.reasons[0].sentence == "cannot check who wrote the additions to 1 file: 'logo' is a binary file"
        assert [(unread.path, unread.why) for unread in report.unread] == [("logo", "is a binary file")]
        assert counts(report) == (2, 0, 0, 0)

    def test_a_submodule_is_unseen(self, world: World) -> None:
        files: Files = {b"a.py": NEW, b"lib": (SUBMODULE, world.first.encode())}
        third = world.built.commit(files, world.second)
        report = world.edited().said(f"{world.second}..{third}")
        assert codes(report) == ["ATTR-UNSEEN"]
        assert [unread.path for unread in report.unread] == ["lib"]


class TestUser:
    def test_a_change_cannot_turn_its_own_verdict_off(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        before = world.said()
        levels = "\n".join(f'{code.value} = "approve"' for code in CODES)
        own = world.built.path.parent / "config" / "custody" / "config.toml"
        own.parent.mkdir(parents=True)
        own.write_text(f'[gate]\ncitations = "off"\n[gate.levels]\n{levels}\n')
        monkeypatch.setenv("XDG_CONFIG_HOME", str(own.parent.parent))
        monkeypatch.setenv("ANSIBEL_TRUST_THRESHOLD_HIGH", "0.1")
        assert world.said() == before


class TestChange:
    def test_an_empty_change_is_approved_without_reasons(self, world: World) -> None:
        for change in (f"{world.second}..{world.second}", f"{world.second}..{world.first}"):
            report = world.said(change)
            assert (report.level, report.reasons, counts(report)) == ("approve", [], (0, 0, 0, 0))

    def test_lines_and_files_that_only_go_add_nothing(self, world: World) -> None:
        third = world.built.commit({b"b.py": OLD, b"logo": b"\0"}, world.second)
        fourth = world.built.commit({b"b.py": b"one = first(1)\n"}, third)
        assert world.said(f"{third}..{fourth}").level == "approve"

    def test_what_adds_nothing_is_blocked_too_where_the_store_is_damaged(self, world: World) -> None:
        third = world.built.commit({b"a.py": OLD}, world.second)
        world.edited().said()
        with closing(sqlite3.connect(world.built.path / ".git" / "custody" / "custody.db")) as store, store:
            store.execute("UPDATE record SET at_ns = at_ns + 1 WHERE seq = 2")
        assert codes(world.said(f"{world.second}..{third}")) == ["INTEG-DAMAGE"]

    def test_a_file_with_another_name_adds_nothing(self, world: World) -> None:
        third = world.built.commit({b"b.py": NEW}, world.second)
        assert world.said(f"{world.second}..{third}").level == "approve"

    @pytest.mark.parametrize("change", ["{0}..{1}", "{0}...{1}", "{0}", "{0}..", "main~1..main"])
    def test_the_ways_to_name_a_change(self, world: World, change: str) -> None:
        found = resolve_change_range(world.workspace.repository, change.format(world.first, world.second))
        assert (found.base, found.head, found.fork) == (world.first, world.second, world.first)
        assert [[str(lines) for lines in one.lines] for one in found.additions] == [["3-4"]]

    def test_a_name_that_is_none_is_the_callers_turn(self, world: World) -> None:
        for change in ("nowhere..HEAD", "HEAD..nowhere", "--all", "", "..HEAD", "..", "...HEAD", "a..b..c"):
            with pytest.raises(InputError):
                world.said(change)

    @pytest.mark.parametrize("dots", ["..", "..."])
    def test_what_the_base_got_meanwhile_is_not_the_changes(self, world: World, dots: str) -> None:
        theirs = world.built.commit({b"a.py": b"two = second(2)\n"}, world.first, ref="refs/heads/theirs")
        found = resolve_change_range(world.workspace.repository, f"{theirs}{dots}{world.second}")
        assert (found.base, found.fork) == (theirs, world.first)
        assert [[str(lines) for lines in one.lines] for one in found.additions] == [["3-4"]]

    def test_a_merge_of_the_base_moves_the_fork(self, world: World) -> None:
        theirs = world.built.commit({b"a.py": OLD, b"t.py": b"t = 1\n"}, world.first, ref="refs/heads/theirs")
        merged = world.built.commit({b"a.py": NEW, b"t.py": b"t = 1\n"}, world.second, theirs)
        later = world.built.commit({b"a.py": OLD, b"t.py": b"t = 2\n"}, theirs, ref="refs/heads/theirs")
        found = resolve_change_range(world.workspace.repository, f"{later}..{merged}")
        assert found.fork == theirs
        assert [one.path.display for one in found.additions] == ["a.py"]

    def test_where_two_forks_are_as_new_the_base_itself_counts(self, world: World) -> None:
        left, right = world.second, world.built.commit({b"a.py": OLD, b"r.py": b"r = 1\n"}, world.first)
        both = {b"a.py": NEW, b"r.py": b"r = 1\n"}
        one, other = world.built.commit(both, left, right), world.built.commit({**both, b"o.py": b"o\n"}, right, left)
        found = resolve_change_range(world.workspace.repository, f"{one}..{other}")
        assert found.fork == one
        assert [addition.path.display for addition in found.additions] == ["o.py"]

    def test_histories_without_a_common_commit_are_compared_as_they_are(self, world: World) -> None:
        stranger = world.built.commit({b"a.py": NEW, b"s.py": b"s = 1\n"}, ref="refs/heads/stranger")
        found = resolve_change_range(world.workspace.repository, f"{world.second}..{stranger}")
        assert found.fork == world.second
        assert [addition.path.display for addition in found.additions] == ["s.py"]

    def test_its_time_is_that_of_its_commits(self, world: World) -> None:
        found = resolve_change_range(world.workspace.repository, f"{world.first}..{world.second}")
        assert found.period is not None
        assert [found.period.base_ns, found.period.first_ns, found.period.last_ns] == [
            (NOON + 60) * NS,
            (NOON + 120) * NS,
            (NOON + 120) * NS,
        ]

    def test_a_bare_repository_can_be_judged(self, tmp_path: Path) -> None:
        built = a_repository(tmp_path / "bare", bare=True)
        first, second = a_history(built, {b"a.py": OLD}, {b"a.py": NEW})
        assert codes(gate(Workspace(built.path), GateRequest(change=f"{first}..{second}"))) == ["ATTR-UNSEEN"]


def gap(world: World, at: int, words: str) -> None:
    """Record a gap at that time."""
    with (home_of(world.built.path) / "gaps").open("a") as file:
        file.write(f"{at * NS} {words}\n")


def test_a_verdict_names_the_calls_that_removed_lines_and_words(world: World) -> None:
    weaker = b"one = first()\n"
    built = world.built
    world.edited(weaker)
    world.second = built.commit({b"a.py": weaker}, world.first, at=NOON + 100)
    (removal,) = world.said().removals
    assert (removal.path, removal.agent, removal.lines, removal.words) == ("a.py", RECORDED_AGENT, 1, 1)
    assert removal.tool_call_id is not None
    assert [(line.line, line.words) for line in removal.shortened] == [(1, ["1"])]
    assert render_removal(world.said()) == [
        f"claude-code call {removal.tool_call_id} removed 1 line and 1 word: a.py:1 (1)"
    ]


def test_a_change_that_only_removes_lines_names_the_call_too(world: World) -> None:
    rest = b"one = first(1)\n"
    world.edited(rest)
    world.second = world.built.commit({b"a.py": rest}, world.first, at=NOON + 100)
    (removal,) = world.said().removals
    assert (removal.lines, removal.words, removal.shortened) == (1, 0, [])


def test_what_a_person_removed_names_no_call(world: World) -> None:
    world.edited()
    world.second = world.built.commit({b"a.py": NEW.replace(b"two = second(2)\n", b"")}, world.first, at=NOON + 200)
    assert world.said().removals == []


def render_removal(report: GateReport) -> list[str]:
    lines = (str(line) for line in render_verdict(report, ReadingOrder("", ()), Screen(), "change", verbose=True))
    return [line for line in lines if " removed " in line]
