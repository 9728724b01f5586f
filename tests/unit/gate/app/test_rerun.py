"""A verdict is bound to its basis and can be reproduced byte for byte, whatever was recorded since."""

import json
import shutil
import sqlite3
import tempfile
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from custody.core.errors import InputError, StoreError
from custody.core.wire.report import encode_report
from custody.dupes.app.index import IndexRequest, dupes_index
from custody.gate.app import gate as gate_module
from custody.gate.app import gather as gate_seen
from custody.gate.app.gate import GateRequest, gate
from custody.gate.app.snapshot import digest_verdict_chains, read_verdict_basis
from custody.gate.app.verify_verdict import VerdictCheck, verify_verdict
from custody.gate.wire.report import GateReport
from custody.ledger.records import erase_record_bodies
from custody.ledger.verify import verify_ledger
from custody.share.sync import pull_from_git, push_to_git
from custody.store import StoreUnwritable
from custody.workspace.workspace import Workspace
from tests.builders.hooks import home_of
from tests.builders.repo import NOON
from tests.builders.team import Team, ana_of
from tests.builders.verdicts import LATER, NEW, Court, changed


@pytest.fixture
def court(tmp_path: Path) -> Court:
    return Court(tmp_path / "repository").proven().edited()


def codes(report: GateReport) -> list[str]:
    return [reason.code for reason in report.reasons]


class TestBound:
    def test_it_names_every_chain_up_to_the_record_that_was_read(self, court: Court) -> None:
        court.imported()
        verdict = court.said()
        there = verify_ledger(court.workspace).chains
        assert [(one.store, one.seq, one.link) for one in verdict.chains] == [
            (one.store, one.records, one.link) for one in there
        ]
        assert len(there) == 2 and sum(one.own for one in there) == 1
        assert verdict.chain_head == digest_verdict_chains(read_verdict_basis(court.workspace).chains) is not None

    def test_a_change_that_adds_nothing_is_bound_too(self, court: Court) -> None:
        court.said()
        verdict = gate(court.workspace, GateRequest(change=f"{court.head}..{court.base}"))
        assert (verdict.level, verdict.added.agent) == ("approve", 0)
        assert verdict.chain_head is not None and len(verdict.chains) == 1

    def test_one_whose_lines_could_not_be_attributed_is_bound_too(
        self, court: Court, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object) -> None:
            raise StoreError("it cannot be asked")

        monkeypatch.setattr(gate_seen, "Operators", broken)
        verdict = court.said()
        assert "ATTR-UNSEEN" in codes(verdict)
        assert verdict.chain_head is not None and len(verdict.chains) == 1

    def test_without_records_no_head_is_written(self, tmp_path: Path) -> None:
        verdict = Court(tmp_path / "repository").said()
        assert (verdict.chain_head, verdict.chains, verdict.gaps, verdict.index) == (None, [], 0, None)

    def test_the_index_is_named_only_where_it_was_searched(self, court: Court) -> None:
        assert court.said().index is None
        court.indexed()
        index = court.said().index
        assert index is not None and index.changes > 1
        off = court.built.commit({b"custody.toml": b'[gate]\nduplicates = "off"\n'}, court.base, ref="refs/heads/off")
        assert gate(court.workspace, GateRequest(change=f"{off}..{court.head}")).index is None

    def test_a_description_is_named_by_its_digest(self, court: Court) -> None:
        said, other = court.said(b"one"), court.said(b"other")
        assert said.description and other.description and said.description != other.description
        assert court.said().description is None

    def test_what_arrives_while_a_change_is_judged_is_not_half_of_the_answer(
        self, court: Court, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looks: list[str] = []
        real = gate_seen.gather_evidence

        def looking(workspace: Workspace, *rest: object) -> object:
            looked = real(workspace, *rest)  # type: ignore[arg-type]
            looks.append(type(workspace).__name__)
            court.happens("rejected")
            return looked

        monkeypatch.setattr(gate_module, "gather_evidence", looking)
        court.seconds = NOON + 9_000
        verdict = court.said()
        assert looks == ["Workspace"] * 3 + ["PastWorkspace"], "three tries, then a copy of what was there"
        monkeypatch.undo()
        assert verdict.chains[0].seq == 12 + 9 + 1 + 3, "the fourth record arrived while the copy was read"
        assert court.checked(verdict).again == "identical"


def judged_along(court: Court, happenings: list[str]) -> list[GateReport]:
    """Return a verdict before all steps, and one after each step."""
    verdicts = [court.said(b"It rests on [S1].")]
    for name in happenings:
        court.happens(name)
        verdicts.append(court.said(b"It rests on [S1]."))
    return verdicts


class TestAgain:
    @given(st.lists(st.sampled_from(LATER), min_size=1, max_size=4))
    @example(list(LATER))
    @example(["indexed", "indexed"])
    @settings(max_examples=6, suppress_health_check=list(HealthCheck))
    def test_whatever_happens_every_verdict_comes_out_again(self, happenings: list[str]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            court = Court(Path(folder) / "repository").proven().edited().edited(b"# N\n", "notes.md", None)
            verdicts = judged_along(court, happenings)
            for verdict in verdicts:
                checked = court.checked(verdict, description=b"It rests on [S1].")
                assert (checked.outcome, checked.again, checked.findings) == ("fine", "identical", [])

    def test_what_happens_does_change_verdicts(self, court: Court) -> None:
        """Otherwise the test above would show nothing."""
        verdicts = judged_along(court, list(LATER))
        told = [(one.reasons, one.trust, one.index, one.gaps, one.chain_head) for one in verdicts]
        assert len({encode_report(one) for one in verdicts}) == len(verdicts)
        assert sum(one[:2] != other[:2] for one, other in pairwise(told)) >= 4
        assert {"DUPE-SAME", "ATTR-UNSEEN"} <= set(codes(verdicts[-1])) - set(codes(verdicts[0]))
        assert "CITE-BROKEN" in set(codes(verdicts[0])) ^ set(codes(verdicts[-1]))

    def test_a_verdict_on_nothing_recorded_comes_out_again(self, tmp_path: Path) -> None:
        court = Court(tmp_path / "repository")
        verdict = court.said()
        assert codes(verdict)[0] == "ATTR-UNSEEN"
        court.proven().edited()
        assert "ATTR-UNSEEN" not in codes(court.said())
        assert court.checked(verdict).again == "identical"

    def test_records_that_it_could_not_know_are_counted(self, court: Court) -> None:
        verdict = court.said()
        court.happens("rejected")
        assert court.checked(verdict).unseen == 1

    def test_answers_about_duplicates_count_only_for_changes_that_were_indexed(self, court: Court) -> None:
        court.indexed()
        verdict = court.said()
        court.happens("indexed")
        assert encode_report(court.said()) != encode_report(verdict)
        assert court.checked(verdict).again == "identical"

    def test_the_work_tree(self, court: Court) -> None:
        (court.folder / "a.py").write_bytes(NEW + b"more = 1\n")
        verdict = court.said(worktree=True)
        assert court.checked(verdict).again == "identical"
        court.happens("rejected")
        assert court.checked(verdict).again == "identical"
        (court.folder / "a.py").write_bytes(NEW + b"more = 2\n")
        checked = court.checked(verdict)
        assert (checked.again, checked.outcome) == ("not", "found")
        assert checked.findings[0].what.endswith("the work tree has changed since the verdict")

    def test_a_store_that_went_on_in_another_chain_knows_which_was_its_own(self, court: Court) -> None:
        court.registered()
        verdict = court.said(b"It rests on [S1] and [S2].")
        database = home_of(court.folder) / "custody.db"
        shutil.copyfile(database, database.with_name("copy"))
        database.with_name("copy").replace(database)
        court.happens("rejected")
        assert len(court.said().chains) == 2, "a restored file does not go on with the chain that it holds"
        assert court.checked(verdict, description=b"It rests on [S1] and [S2].").again == "identical"

    def test_a_colleague_who_pulled_the_records_without_their_texts_has_it_again(self, tmp_path: Path) -> None:
        team = Team(tmp_path)
        ana = ana_of(team)
        verdict = encode_report(gate(ana, GateRequest(change="HEAD~1..HEAD")))
        push_to_git(ana, None)
        bob = team.clone("bob")
        assert verify_verdict(bob, VerdictCheck(verdict=verdict)).again == "not"
        pull_from_git(bob, None)
        checked = verify_verdict(bob, VerdictCheck(verdict=verdict))
        assert (checked.again, checked.findings) == ("identical", [])

    def test_nothing_is_written_to_the_store(self, court: Court) -> None:
        verdict = court.said()
        before = sorted((path.name, path.stat().st_mtime_ns) for path in home_of(court.folder).iterdir())
        heads = read_verdict_basis(court.workspace)
        assert court.checked(verdict).again == "identical"
        after = sorted((path.name, path.stat().st_mtime_ns) for path in home_of(court.folder).iterdir())
        assert (read_verdict_basis(court.workspace), [name for name, _ in after]) == (
            heads,
            [name for name, _ in before],
        )


class TestDiffers:
    CHANGED: tuple[tuple[dict[str, object], list[str]], ...] = (
        ({"level": "approve", "reasons": []}, ["level", "reasons"]),
        ({"added": {"agent": 5, "mixed": 0, "none": 0, "person": 0}}, ["added"]),
        ({"trust": []}, ["trust"]),
        ({"fork": "c" * 40}, ["fork"]),
        ({"extra": 1}, ["extra"]),
        ({"removed_lines": 7}, ["removed_lines"]),
        ({"skipped": [{"name": "trust", "why": "it is off"}]}, ["skipped"]),
        ({"checks": []}, ["checks"]),
        ({"rules_from": ["custody.toml", "elsewhere"]}, ["rules_from"]),
    )

    def test_what_was_changed_is_named(self, court: Court) -> None:
        court.indexed()
        verdict = court.said()
        assert verdict.level == "review"
        wrong = []
        for fields, named in self.CHANGED:
            checked = court.checked(changed(verdict, **fields))
            told = [one.what.split("'")[1] for one in checked.findings if one.code == "verdict_differs"]
            if (checked.outcome, checked.again, told) != ("found", "differs", named):
                wrong.append((fields, checked.outcome, checked.again, told))
        assert wrong == []

    def test_a_verdict_of_a_version_that_did_not_count_files_is_reproduced(self, court: Court) -> None:
        fields = json.loads(encode_report(court.said()))
        assert fields.pop("files") == 2
        assert fields.pop("removed_lines") == 0
        assert court.checked(json.dumps(fields).encode()).again == "identical"

    def test_an_old_verdict_with_a_missing_key_is_not_accepted(self, court: Court) -> None:
        with pytest.raises(InputError, match="chains"):
            court.checked(encode_report(court.said()).replace(b'"chains":', b'"chians":'))

    def test_a_store_that_was_damaged_since_is_seen(self, court: Court) -> None:
        verdict = court.said()
        with closing(sqlite3.connect(home_of(court.folder) / "custody.db")) as db, db:
            db.execute("UPDATE record SET at_ns = at_ns + 1 WHERE seq = 2")
        checked = court.checked(verdict)
        assert checked.again == "differs"
        assert any("INTEG-DAMAGE" in one.what for one in checked.findings)


class TestCannot:
    def because(self, court: Court, verdict: GateReport | bytes, **more: bytes) -> str:
        checked = court.checked(verdict, **more)
        assert (checked.outcome, checked.again, checked.unseen) == ("found", "not", None)
        (finding,) = [one for one in checked.findings if one.code == "verdict_not_again"]
        assert finding.what.startswith("cannot reproduce the verdict: ")
        return finding.what.removeprefix("cannot reproduce the verdict: ")

    def test_erased_since(self, court: Court) -> None:
        verdict = court.said()
        erase_record_bodies(court.workspace, ["2", "3"], who="ana", why="a secret")
        assert self.because(court, verdict) == "2 records were erased since"
        later = court.said()
        assert court.checked(later).again == "identical", "earlier erasures do not matter"

    def test_other_records(self, court: Court, tmp_path: Path) -> None:
        verdict = court.said()
        chain = verdict.chains[0]
        other = Court(tmp_path / "other" / "repository")
        assert self.because(other, verdict).startswith(f"chain {chain.store} has 0 records here, but the verdict")
        with closing(sqlite3.connect(home_of(court.folder) / "custody.db")) as db, db:
            db.execute("UPDATE record SET link = ? WHERE seq = ?", (b"\0" * 32, chain.seq))
        assert self.because(court, verdict) == (f"record {chain.seq} of chain {chain.store} differs from the verdict's")

    def test_an_index_that_was_rebuilt(self, court: Court) -> None:
        court.indexed()
        court.happens("indexed")
        verdict = court.said()
        dupes_index(court.workspace, IndexRequest(ranges=(f"{court.base}..{court.head}",), workers=1, rebuild=True))
        assert "indexed changes, and the index here differs" in self.because(court, verdict)

    def test_a_description(self, court: Court) -> None:
        verdict = court.said(b"words")
        assert self.because(court, verdict) == "the verdict was made with a description; pass it with --description"
        assert "another description" in self.because(court, verdict, description=b"other words")
        assert court.checked(verdict, description=b"words").again == "identical"
        assert self.because(court, court.said(), description=b"words") == "the verdict was made without a description"

    def test_rules_of_another_version(self, court: Court) -> None:
        verdict = changed(court.said(), rules_digest="sha256:" + "0" * 64)
        assert self.because(court, verdict).startswith("the rules of its base differ here")

    def test_gaps_that_somebody_deleted(self, court: Court) -> None:
        court.lost()
        verdict = court.said()
        (home_of(court.folder) / "gaps").unlink()
        assert court.checked(verdict).again == "identical", "they are in the chain too"

    def test_commits_that_are_not_here(self, court: Court) -> None:
        gone = "c" * 40
        assert gone[:12] in self.because(court, changed(court.said(), head=gone))

    def test_a_store_that_was_damaged_then(self, court: Court) -> None:
        court.said()
        head = next(home_of(court.folder).glob("head-*"))
        kept = head.read_bytes()
        head.write_bytes(kept.replace(b'"seq":', b'"seq":1'))
        verdict = court.said()
        assert codes(verdict)[0] == "INTEG-DAMAGE"
        assert "the store was damaged when the verdict was made" in self.because(court, verdict)

    def test_events_that_only_waited(self, court: Court, monkeypatch: pytest.MonkeyPatch) -> None:
        court.said()

        def unwritable(path: Path) -> None:
            raise StoreUnwritable(f"cannot write '{path}'")

        with monkeypatch.context() as patch:
            patch.setattr("custody.workspace.workspace.open_sqlite", unwritable)
            court.rejected()
            verdict = court.said()
        assert [chain.store for chain in verdict.chains].count("pending") == 1
        assert self.because(court, verdict) == "the verdict was made from 1 event not yet stored in a chain"

    RUBBISH: tuple[dict[str, object], ...] = (
        {"chain_head": "sha256:" + "0" * 64},
        {"chains": []},
        {"chains": [{"store": "x", "seq": 1, "link": "no hex"}]},
        {"chains": [{"store": "x", "seq": 1, "link": "00"}] * 2},
        {"as_of": "yesterday"},
        {"as_of": "9999-01-01T00:00:00Z"},
        {"as_of": "\ud800"},
        {"base": "c" * 64},
        {"index": {"changes": 2**63 - 1, "last": "\ud800"}},
    )

    def test_invalid_fields_of_a_verdict_are_reported(self, court: Court) -> None:
        verdict = court.said()
        wrong = []
        for fields in self.RUBBISH:
            try:
                told = self.because(court, changed(verdict, **fields))
            except AssertionError as error:
                wrong.append((fields, str(error)))
            else:
                if not told:
                    wrong.append((fields, "no reason"))
        assert wrong == []


NO_VERDICTS: tuple[dict[str, object], ...] = (
    {"base": "--all"},
    {"head": "main"},
    {"fork": "\ud800" * 40},
    {"base": "c" * 40 + "\n"},
    {"index": {"changes": 2**63, "last": ""}},
    {"chains": [{"store": "x", "seq": 2**63, "link": "00"}]},
    {"chains": [{"store": "x", "seq": -1, "link": "00"}]},
    {"chains": [{"store": "\ud800", "seq": 1, "link": "00"}]},
    {"chains": [{"store": "x\0", "seq": 1, "link": "00"}]},
    {"level": "fine"},
    {"reasons": None},
)


def test_an_invalid_verdict_is_an_input_error(court: Court) -> None:
    verdict = court.said()
    wrong = []
    for fields in NO_VERDICTS:
        try:
            court.checked(changed(verdict, **fields))
        except InputError as error:
            if "invalid verdict of 'custody gate'" not in str(error):
                wrong.append((fields, str(error)))
        else:
            wrong.append((fields, "accepted"))
    assert wrong == []


def test_lines_that_an_agent_wrote_long_ago_are_as_old_as_they_were(court: Court) -> None:
    """The trust in an agent decays over time, so a verdict is bound to its time."""
    verdict = court.said()
    court.seconds += 90 * 86_400
    assert court.said().trust != verdict.trust
    assert court.checked(verdict).again == "identical"
