"""Chains through a git remote: a colleague's clone gives the same answers, without the texts."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from custody.attribution.app.blame import blame
from custody.core.errors import GitError, InputError
from custody.core.wire.report import encode_report
from custody.gate.app.gate import GateRequest, gate
from custody.git import Exchange, RemoteMoveError
from custody.ledger.records import erase_record_bodies, show_named_records
from custody.ledger.verify import verify_ledger
from custody.share.export import export_chains_to_file, import_chain_export
from custody.share.sync import pull_from_git, push_to_git
from custody.share.wire import PullReport, PushReport
from custody.why.why import why
from custody.workspace.workspace import Workspace
from tests.builders.events import an_event
from tests.builders.lines import NS, an_edit_event, moment, text
from tests.builders.repo import NOON, a_repository
from tests.builders.team import NEW, SECRETS, Team, ana_of, answers, recorded


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path)


@pytest.fixture
def ana(team: Team) -> Workspace:
    return ana_of(team)


def _ungraded(report: dict[str, Any]) -> list[tuple[Any, ...]]:
    names = ("start_line", "end_line", "class", "share", "session_id", "tool_call_id", "commits", "reason")
    return [tuple(block[name] for name in names) for block in report.get("attributions", ())]


def outcomes(report: PushReport | PullReport) -> list[tuple[str, int]]:
    return [(chain.outcome, chain.new) for chain in report.chains]


def test_a_fresh_clone_answers_the_same_without_the_texts(team: Team, ana: Workspace) -> None:
    first = answers(ana)
    classes = {block["class"] for answer in first for block in answer.get("attributions", ())}
    assert classes == {"agent", "mixed", "person", "none"}, "there is something to compare"
    assert outcomes(push_to_git(ana, None)) == [("sent", 10)]
    bob = team.clone("bob")
    assert answers(bob) != first
    assert outcomes(pull_from_git(bob, None)) == [("taken", 10)]
    assert answers(bob) == first
    checked = verify_ledger(bob)
    assert (checked.outcome, checked.records, checked.findings, checked.withheld) == ("fine", 10, [], 7)


def test_a_team_database_pulls_chains_like_any_store(team: Team, ana: Workspace, fresh_postgres: str) -> None:
    push_to_git(ana, None)
    bob = replace(team.clone("bob"), database=fresh_postgres)
    assert outcomes(pull_from_git(bob, None)) == [("taken", 10)]
    assert answers(bob) == answers(ana)
    assert (verify_ledger(bob).findings, verify_ledger(bob).withheld) == ([], 7)


def test_texts_are_shared_only_on_request(team: Team, ana: Workspace) -> None:
    push_to_git(ana, None)
    shared = b"".join(team.shared(team.ref(ana)).values()).decode()
    assert not [word for word in SECRETS if word in shared]
    assert '"reason":"fine"' in shared.replace("\\", ""), "decisions are shared as they are"
    push_to_git(ana, None, texts=True)
    shared = b"".join(team.shared(team.ref(ana)).values()).decode()
    assert "a_secret_line_7" in shared


def test_a_plain_clone_fetches_no_evidence(team: Team, ana: Workspace) -> None:
    push_to_git(ana, None)
    bob = team.clone("bob")
    assert not list(bob.repository.refs("refs/custody/"))
    assert not list(ana.repository.refs("refs/custody/")), "nothing is written to the repository itself"


def test_why_reports_that_the_prompt_was_withheld(team: Team, ana: Workspace) -> None:
    push_to_git(ana, None)
    bob = team.clone("bob")
    pull_from_git(bob, None)
    away = json.loads(encode_report(why(bob, "like.py", 4)))
    at_home = json.loads(encode_report(why(ana, "like.py", 4)))
    assert "the prompt '1' was withheld by the store that shared it" in json.dumps(away)
    kinds = [[step["what"] for step in report["chain"] if step["what"] != "prompt"] for report in (at_home, away)]
    assert kinds[1] == [*kinds[0], "end"], "nothing else is missing"


def test_the_gate_judges_the_same_but_for_decisions_of_others(team: Team, ana: Workspace) -> None:
    push_to_git(ana, None)
    bob = team.clone("bob")
    pull_from_git(bob, None)
    home, there = (
        json.loads(encode_report(gate(workspace, GateRequest(change="HEAD~1..HEAD")))) for workspace in (ana, bob)
    )
    reasons = [
        [reason for reason in report["reasons"] if not reason["code"].startswith("TRUST")] for report in (home, there)
    ]
    assert reasons[0] == reasons[1]
    assert (home["level"], home["added"]) == (there["level"], there["added"])
    # Decisions of others cannot approve a change: they make a verdict stricter, never milder.
    assert {reason["code"] for reason in home["reasons"]} <= {reason["code"] for reason in there["reasons"]}


def test_the_outline_of_a_withheld_record_is_shown(team: Team, ana: Workspace) -> None:
    push_to_git(ana, None)
    bob = team.clone("bob")
    pull_from_git(bob, None)
    (payload,) = show_named_records(bob, "event-1").payloads
    assert payload["$withheld"][0]["view"] == "Prompt"
    assert payload["$withheld"][0]["text"]["content"] is None


def test_pushing_and_pulling_again_changes_nothing_and_continues(team: Team, ana: Workspace) -> None:
    push_to_git(ana, None)
    assert outcomes(push_to_git(ana, None)) == [("same", 0)]
    bob = team.clone("bob")
    pull_from_git(bob, None)
    assert outcomes(pull_from_git(bob, None)) == [("same", 0)]
    recorded(ana, an_edit_event("app.py", NEW, NEW + "one_more_line = 1\n", at=50), prefix="later")
    assert outcomes(push_to_git(ana, None, dry_run=True)) == [("waits", 1)]
    assert outcomes(pull_from_git(bob, None)) == [("same", 0)]
    assert outcomes(push_to_git(ana, None)) == [("sent", 1)]
    assert outcomes(pull_from_git(bob, None, dry_run=True)) == [("waits", 1)]
    assert verify_ledger(bob).records == 10
    assert outcomes(pull_from_git(bob, None)) == [("taken", 1)]
    assert answers(bob) == answers(ana)


def test_full_chunks_are_sent_once(team: Team, ana: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custody.share.git_transport.CHUNK_RECORDS", 4)
    monkeypatch.setattr("custody.share.wire.CHUNK_RECORDS", 4)
    push_to_git(ana, None)
    before = team.remote.git("ls-tree", "-r", team.ref(ana)).decode()
    recorded(ana, an_event("prompt", id="p9", text="more", at=moment(60)), prefix="later")
    push_to_git(ana, None)
    after = team.remote.git("ls-tree", "-r", team.ref(ana)).decode()
    chunks = [[line for line in tree.splitlines() if "\tchain/" in line] for tree in (before, after)]
    assert chunks[0][:2] == chunks[1][:2]
    assert chunks[0][2] != chunks[1][2]
    assert len(team.remote.git("rev-list", team.ref(ana)).decode().split()) == 2, "the second commit has a parent"
    bob = team.clone("bob")
    assert outcomes(pull_from_git(bob, None)) == [("taken", 11)]
    assert answers(bob) == answers(ana)


def test_texts_can_be_shared_later_and_removed_again(team: Team, ana: Workspace) -> None:
    push_to_git(ana, None)
    bob = team.clone("bob")
    pull_from_git(bob, None)
    first = answers(bob)
    assert outcomes(push_to_git(ana, None, texts=True)) == [("sent", 0)]
    assert outcomes(pull_from_git(bob, None)) == [("taken", 0)]
    assert answers(bob) == first
    checked = verify_ledger(bob)
    assert (checked.findings, checked.withheld) == ([], 0)
    summary = blame(bob, "like.py").report.attributions[-1].conversation_summary
    assert summary == blame(ana, "like.py").report.attributions[-1].conversation_summary is not None
    assert outcomes(push_to_git(ana, None)) == [("sent", 0)]
    assert len(team.remote.git("rev-list", team.ref(ana)).decode().split()) == 1, "the texts are not in its history"
    pull_from_git(bob, None)
    assert (verify_ledger(bob).findings, verify_ledger(bob).withheld) == ([], 0), "pulled texts stay"
    assert answers(bob) == first


def test_erased_bodies_leave_the_reference_and_its_history(team: Team, ana: Workspace) -> None:
    push_to_git(ana, None, texts=True)
    erase_record_bodies(ana, ["event-6"], who="ana", why="a secret")
    push_to_git(ana, None, texts=True)
    assert b"a_secret_line_7" not in b"".join(team.shared(team.ref(ana)).values())
    assert len(team.remote.git("rev-list", team.ref(ana)).decode().split()) == 1
    bob = team.clone("bob")
    assert outcomes(pull_from_git(bob, None)) == [("taken", 12)]
    assert (verify_ledger(bob).findings, verify_ledger(bob).erased) == ([], 2)
    assert answers(bob) == answers(ana)


def test_erased_bodies_leave_copies_without_texts_too(team: Team, ana: Workspace) -> None:
    push_to_git(ana, None)
    bob = team.clone("bob")
    pull_from_git(bob, None)
    erase_record_bodies(ana, ["event-3"], who="ana", why="a secret")
    push_to_git(ana, None)
    pull_from_git(bob, None)
    carl = team.clone("carl")
    pull_from_git(carl, None)
    assert answers(carl) == answers(bob) == answers(ana)
    assert [verify_ledger(workspace).findings for workspace in (bob, carl)] == [[], []]


def test_several_colleagues_see_each_other(team: Team, ana: Workspace) -> None:
    push_to_git(ana, None)
    bob = team.clone("bob")
    more = NEW + text("added_by_bobs_agent = value_of(bob)", "second_of_bobs_agent = 2")
    recorded(bob, an_edit_event("new_name.py", NEW, more, at=100, session="bobs"), prefix="bobs")
    built = a_repository(bob.folder)
    made = built.commit({b"new_name.py": more.encode()}, built.head(), at=NOON + 120)
    built.checkout()
    built.git("push", "--quiet", "origin", "main")
    assert made
    pull_from_git(bob, None)
    push_to_git(bob, None)
    a_repository(ana.folder).git("pull", "--quiet", "--ff-only", "origin", "main")
    assert sorted(outcomes(pull_from_git(ana, None))) == [("own", 0), ("taken", 1)]
    carl = team.clone("carl")
    assert sorted(outcomes(pull_from_git(carl, None))) == [("taken", 1), ("taken", 10)]
    reports = [json.loads(encode_report(blame(workspace, "new_name.py").report)) for workspace in (ana, bob, carl)]
    for report in reports:
        for block in report["attributions"]:
            block.pop("conversation_summary")
    assert reports[0] == reports[1] == reports[2]
    assert {block["session_id"] for block in reports[0]["attributions"]} >= {"bobs", "s1"}


def test_an_export_of_pulled_chains_gives_the_same_answers(team: Team, ana: Workspace, tmp_path: Path) -> None:
    push_to_git(ana, None)
    bob, carl = team.clone("bob"), team.clone("carl")
    pull_from_git(bob, None)
    export_chains_to_file(bob, tmp_path / "out.jsonl")
    assert import_chain_export(carl, tmp_path / "out.jsonl").outcome == "fine"
    assert [_ungraded(answer) for answer in answers(carl)] == [_ungraded(answer) for answer in answers(ana)]
    assert {block["grade"] for block in answers(carl)[0]["attributions"]} == {None, "claimed"}, "a file is a claim"
    export_chains_to_file(carl, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "out.jsonl").read_bytes()


# --- bad input --------------------------------------------------------------------------------------------------------


def tampered(team: Team, ref: str, name: str, old: bytes, new: bytes) -> None:
    """Change the content of a reference, like somebody with write access to the remote."""
    files = {path.encode(): data for path, data in team.shared(ref).items()}
    assert old in files[name.encode()]
    files[name.encode()] = files[name.encode()].replace(old, new)
    team.remote.commit(files, ref=ref)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("chain/00000000.jsonl", b'"at_ns":1700000010', b'"at_ns":1700000011'),
        ("chain/00000000.jsonl", b'\\"reason\\":\\"fine\\"', b'\\"reason\\":\\"evil\\"'),
        ("chain/00000000.jsonl", b'"seq":4,', b'"seq":5,'),
        ("chain/00000000.jsonl", b'\\"view\\":\\"Prompt\\"', b'\\"view\\":\\"Promise\\"'),
        ("chain/00000000.jsonl", b'\\"content\\":null', b'\\"content\\":\\"planted\\"'),
        ("chain/00000000.jsonl", b'{"at_ns"', b'{"at_ms"'),
        ("about.json", b'"seq":10', b'"seq":11'),
        ("about.json", b'"seq":10', b'"seq":9'),
        ("about.json", b'"custody":1', b'"custody":2'),
        ("about.json", b'"texts":false', b'"texts":0'),
    ],
)
def test_a_chain_that_does_not_verify_is_refused_whole(
    team: Team, ana: Workspace, name: str, old: bytes, new: bytes
) -> None:
    push_to_git(ana, None)
    tampered(team, team.ref(ana), name, old, new)
    bob = team.clone("bob")
    report = pull_from_git(bob, None)
    assert (report.outcome, outcomes(report)) == ("found", [("refused", 0)])
    assert report.chains[0].findings
    assert verify_ledger(bob).records == 0


def test_one_refused_chain_does_not_stop_the_others(team: Team, ana: Workspace) -> None:
    push_to_git(ana, None)
    dora = recorded(team.clone("dora"), an_event("prompt", text="hello"))
    push_to_git(dora, None)
    tampered(team, team.ref(ana), "about.json", b'"seq":10', b'"seq":11')
    report = pull_from_git(team.clone("bob"), None)
    assert sorted(outcomes(report)) == [("refused", 0), ("taken", 1)]


def test_a_rewritten_chain_is_refused_and_named(team: Team, ana: Workspace) -> None:
    push_to_git(ana, None)
    bob = team.clone("bob")
    pull_from_git(bob, None)
    first = answers(bob)
    with ana.reading() as store:
        own = store.own()
    other = replace(team.clone("mallory"), token=lambda: str(own))
    recorded(other, *(an_event("prompt", id=str(n), text="forged", at=moment(n)) for n in range(12)), prefix="forged")
    ref = team.ref(ana)
    team.remote.git("update-ref", "-d", ref)
    push_to_git(other, None)
    report = pull_from_git(bob, None)
    assert [finding.code for finding in report.chains[0].findings] == ["CHAIN-FORK", "CHAIN-LINK"]
    assert (verify_ledger(bob).findings, answers(bob)) == ([], first)
    refused = push_to_git(ana, None)
    assert (refused.outcome, outcomes(refused)) == ("found", [("refused", 0)])


def test_a_chain_of_this_store_is_never_pulled(team: Team, ana: Workspace) -> None:
    push_to_git(ana, None)
    with ana.reading() as store:
        own = store.own()
    other = replace(team.clone("mallory"), token=lambda: str(own))
    pull_from_git(other, None)
    recorded(other, an_event("prompt", id="x", text="planted", at=moment(99)), prefix="planted")
    assert outcomes(pull_from_git(ana, None)) == [("own", 0)]
    assert verify_ledger(ana).records == 10


def test_a_reference_that_names_another_store_is_refused(team: Team, ana: Workspace) -> None:
    push_to_git(ana, None)
    team.remote.git("update-ref", f"refs/custody/{'f' * 32}", team.ref(ana))
    report = pull_from_git(team.clone("bob"), None)
    assert sorted(outcomes(report)) == [("refused", 0), ("taken", 10)]


def test_references_that_are_not_chains_are_skipped_or_refused(team: Team, ana: Workspace) -> None:
    team.remote.git("update-ref", "refs/custody/notes", "refs/heads/main")
    team.remote.git("update-ref", f"refs/custody/{'e' * 32}", "refs/heads/main")
    report = pull_from_git(team.clone("bob"), None)
    assert outcomes(report) == [("refused", 0)]


def test_two_concurrent_pushes_both_arrive(team: Team, ana: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    push_to_git(ana, None)
    recorded(ana, an_event("prompt", id="p9", text="more", at=moment(60)), prefix="later")
    pushed = Exchange.push
    races: list[int] = []

    def raced(self: Exchange, url: object, name: str, commit: str, old: str | None) -> None:
        if not races:
            races.append(1)
            monkeypatch.setattr(Exchange, "push", pushed)
            quicker = replace(ana, now_ns=lambda: (NOON + 901) * NS)
            assert outcomes(push_to_git(quicker, None)) == [("sent", 1)]
            monkeypatch.setattr(Exchange, "push", raced)
        pushed(self, url, name, commit, old)  # type: ignore[arg-type]

    monkeypatch.setattr(Exchange, "push", raced)
    assert outcomes(push_to_git(ana, None)) == [("same", 0)]
    assert races == [1]


def test_a_push_never_overwrites_a_state_it_has_not_fetched(team: Team, ana: Workspace) -> None:
    push_to_git(ana, None)
    exchange = ana.repository.exchange(team.folder / "x")
    url = ana.repository.resolve_remote_url(team.url)
    (ref,) = exchange.fetch(url)
    other = exchange.commit({b"x": exchange.keep(b"x")}, [], "another", 0)
    for expected in (None, "1" * 40):
        with pytest.raises(RemoteMoveError):
            exchange.push(url, ref.name.decode(), other, expected)
    assert exchange.fetch(url) == [ref]


def test_the_reason_of_a_refusing_remote_is_shown(team: Team, ana: Workspace) -> None:
    team.remote.git("config", "receive.denyDeletes", "true")
    team.remote.git("config", "transfer.hideRefs", "refs/custody")
    with pytest.raises(GitError, match="hidden ref") as caught:
        push_to_git(ana, None)
    assert "refs/custody" in str(caught.value.hint)


def test_a_missing_remote_loses_nothing(team: Team, ana: Workspace) -> None:
    team.remote.path.rename(team.folder / "moved.git")
    for verb in (push_to_git, pull_from_git):
        with pytest.raises(GitError) as caught:
            verb(ana, None)
        assert "nothing was lost" in str(caught.value.hint)
    assert verify_ledger(ana).records == 10


@pytest.mark.parametrize(
    "url", ["ext::sh -c x", "http://example.invalid/x", "git://example.invalid/x", "-x", "", "fd::3", "ftp://x/y"]
)
def test_other_transports_are_refused(team: Team, ana: Workspace, url: str) -> None:
    a_repository(ana.folder).git("config", "remote.origin.url", url)
    with pytest.raises(InputError):
        push_to_git(ana, None)


def test_the_default_remote_is_the_one_that_the_branch_follows(team: Team, ana: Workspace) -> None:
    built = a_repository(ana.folder)
    built.git("remote", "rename", "origin", "upstream")
    built.git("config", "branch.main.remote", "upstream")
    assert push_to_git(ana, None).remote == "upstream"
    with pytest.raises(InputError, match="unknown remote 'elsewhere'"):
        push_to_git(ana, "elsewhere")


def test_nothing_recorded_means_nothing_to_push(team: Team, ana: Workspace) -> None:
    assert push_to_git(team.clone("bob"), None).chains == []
    assert pull_from_git(ana, None).chains == []


def test_the_clock_alone_changes_nothing_shared(team: Team, ana: Workspace) -> None:
    push_to_git(ana, None)
    later = replace(ana, now_ns=lambda: (NOON + 90_000) * NS)
    assert outcomes(push_to_git(later, None)) == [("same", 0)]


def test_an_interrupted_push_leaves_nothing_half_done(
    team: Team, ana: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("push", "commit", "keep"):
        with monkeypatch.context() as patch:
            patch.setattr(Exchange, name, _cut_off)
            with pytest.raises(KeyboardInterrupt):
                push_to_git(ana, None)
        assert not team.remote.git("for-each-ref", "refs/custody/")
    assert outcomes(push_to_git(ana, None)) == [("sent", 10)]
    bob = team.clone("bob")
    with monkeypatch.context() as patch:
        patch.setattr("custody.share.chain_intake.store_shared_chain", _cut_off)
        with pytest.raises(KeyboardInterrupt):
            pull_from_git(bob, None)
    assert verify_ledger(bob).records == 0
    assert outcomes(pull_from_git(bob, None)) == [("taken", 10)]
    assert answers(bob) == answers(ana)


def _cut_off(*_: object, **__: object) -> None:
    raise KeyboardInterrupt
