"""Signed heads and countersignatures through a git remote: what the owner shared arrives, or nothing does."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from custody.config.team_policy import TeamPolicy, TeamStore
from custody.core.assurance import Assurance
from custody.core.errors import GitError, InputError
from custody.core.ids import Link, StoreId
from custody.core.tree_head import TreeHash
from custody.core.wire.head_statement import (
    HEAD_NAMESPACE,
    WITNESS_NAMESPACE,
    ChainHeadStatement,
    HeadSighting,
    StatementEnvelope,
    WitnessEntry,
    decode_statement,
    decode_statement_file,
    encode_statement,
    format_key_fingerprint,
)
from custody.git import Exchange, RemoteMoveError
from custody.ledger.assurance import rate_store_chains
from custody.ledger.records import erase_record_bodies
from custody.ledger.verify import verify_ledger
from custody.share import heads as heads_module
from custody.share.chain_intake import NO_COUNTERSIGNATURE, UNSIGNED
from custody.share.export import export_chains_to_file, import_chain_export
from custody.share.git_transport import WITNESS_REF
from custody.share.heads import hash_remote_url
from custody.share.queries import SeenHead, list_seen_heads, list_statements, put_seen_heads
from custody.share.sync import pull_from_git, push_to_git
from custody.share.wire import PullReport, SharedChain
from custody.share.witness import (
    WitnessOptions,
    check_witness_entry,
    encode_witness_entry,
    name_witness_entry,
)
from custody.signing import allowed_signers_from_key, derive_public_key, find_signer, make_private_key, sign_message
from custody.workspace.store_key import KEY_FILE, read_store_public_key
from custody.workspace.workspace import Workspace
from tests.builders.events import an_event
from tests.builders.lines import NS, moment
from tests.builders.repo import NOON, a_repository
from tests.builders.team import Team, ana_of, answers, recorded


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path)


@pytest.fixture
def ana(team: Team) -> Workspace:
    workspace = ana_of(team)
    push_to_git(workspace, None)
    return workspace


def key_of(workspace: Workspace) -> str:
    key = read_store_public_key(workspace.home)
    assert key is not None
    return key


def fingerprint_of(workspace: Workspace) -> str:
    return format_key_fingerprint(key_of(workspace))


def only(report: PullReport) -> SharedChain:
    (chain,) = report.chains
    return chain


def codes(report: PullReport) -> list[str]:
    return [finding.code for finding in only(report).findings]


def replaced(team: Team, ref: str, change: Callable[[dict[str, bytes]], None]) -> None:
    """Replace the content of a reference of the remote, as whoever can write to it may do."""
    files = team.shared(ref)
    change(files)
    team.remote.git("update-ref", "-d", ref)
    team.remote.commit({name.encode(): data for name, data in files.items()}, ref=ref)


def signed_head(team: Team, ref: str) -> StatementEnvelope:
    return decode_statement_file(team.shared(ref)["head.json"], StatementEnvelope, bytes_max=1 << 16)


def signed_again(workspace: Workspace, statement: ChainHeadStatement) -> bytes:
    """Return a statement of the owner with other content."""
    assert workspace.home is not None
    data = encode_statement(statement)
    signed = StatementEnvelope(
        data.decode(), key_of(workspace), sign_message(data, workspace.home / KEY_FILE, HEAD_NAMESPACE)
    )
    return json.dumps(msgspec.to_builtins(signed)).encode()


def grown(workspace: Workspace, count: int = 1) -> Workspace:
    """Return the workspace with more records."""
    with workspace.reading() as store:
        own = store.own()
        assert own is not None
        before = int(store.tables.head(own).seq)
    events = (an_event("decision", id=f"d{before + n}", at=moment(60 + n)) for n in range(count))
    return recorded(workspace, *events, prefix=f"more-{before}")


def records_of(workspace: Workspace) -> int:
    return verify_ledger(workspace).records


# --- the owner's statement --------------------------------------------------------------------------------------------


def test_a_head_is_signed_when_it_is_shared(team: Team, ana: Workspace) -> None:
    signed = signed_head(team, team.ref(ana))
    statement = decode_statement(signed.data, ChainHeadStatement)
    assert signed.key == key_of(ana)
    assert find_signer(signed.data, signed.signature, HEAD_NAMESPACE, allowed_signers_from_key(signed.key)) == "key"
    assert statement.repository == tuple(ana.repository.roots())
    assert (statement.seq, statement.at) == (10, (NOON + 900) * NS)
    before = team.remote.git("rev-parse", team.ref(ana), WITNESS_REF)
    assert push_to_git(ana, None).chains[0].outcome == "same"
    assert team.remote.git("rev-parse", team.ref(ana), WITNESS_REF) == before, "the same head is signed once"


def test_a_pull_stores_the_statement_and_who_signed_it(team: Team, ana: Workspace) -> None:
    bob = team.clone("bob")
    chain = only(pull_from_git(bob, None))
    assert (chain.outcome, chain.signed_by, chain.countersigned_by) == ("taken", fingerprint_of(ana), [])
    assert chain.notes == [NO_COUNTERSIGNATURE]
    with bob.reading() as store:
        statements = list_statements(store, StoreId(chain.store))
    assert statements == [signed_head(team, team.ref(ana))]
    assert only(pull_from_git(bob, None)).notes == [], "this clone would notice it now"
    chain = only(pull_from_git(team.clone("carol"), None))
    assert (chain.countersigned_by, chain.notes) == ([fingerprint_of(bob)], [])


def test_a_changed_outline_is_refused_whole(team: Team, ana: Workspace) -> None:
    def forge(files: dict[str, bytes]) -> None:
        chunk = files["chain/00000000.jsonl"]
        assert chunk.count(b'\\"c10\\"') > 0
        files["chain/00000000.jsonl"] = chunk.replace(b'\\"c10\\"', b'\\"c99\\"')

    replaced(team, team.ref(ana), forge)
    bob = team.clone("bob")
    report = pull_from_git(bob, None)
    assert (set(codes(report)), records_of(bob)) == ({"OUTLINE-CHANGED"}, 0)
    assert "record 3" in only(report).findings[0].what


def test_changed_or_missing_origins_are_refused_whole(team: Team, ana: Workspace) -> None:
    def drop(files: dict[str, bytes]) -> None:
        del files[next(name for name in sorted(files) if name.startswith("origins/"))]

    replaced(team, team.ref(ana), drop)
    bob = team.clone("bob")
    report = pull_from_git(bob, None)
    assert (codes(report), records_of(bob)) == (["OUTLINE-CHANGED"], 0)
    assert "origins of lines" in only(report).findings[0].what


def test_changed_outline_digests_are_refused(team: Team, ana: Workspace) -> None:
    def forge(files: dict[str, bytes]) -> None:
        files["outlines/00000000"] = files["outlines/00000000"].replace(b"\n", b"\n" + b"1" * 64 + b"\n", 2)[: 10 * 65]

    replaced(team, team.ref(ana), forge)
    assert set(codes(pull_from_git(team.clone("bob"), None))) == {"OUTLINE-CHANGED"}


def test_a_head_of_another_repository_is_refused(team: Team, ana: Workspace) -> None:
    other = a_repository(team.folder / "other")
    other.commit({b"a": b"another beginning"}, ref="refs/heads/main")
    other.git("remote", "add", "origin", team.url)
    report = pull_from_git(team.workspace(other.path), None)
    assert codes(report) == ["HEAD-SIGNATURE"]
    assert "another repository" in only(report).findings[0].what


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda s: msgspec.structs.replace(s, at=s.at + 10**15), "clocks"),
        (lambda s: msgspec.structs.replace(s, link="0" * 64), "record 10"),
        (lambda s: msgspec.structs.replace(s, store="0" * 32), "about chain 0000"),
        (lambda s: msgspec.structs.replace(s, seq=11), "record 11"),
    ],
)
def test_a_statement_that_does_not_fit_is_refused(
    team: Team, ana: Workspace, change: Callable[[ChainHeadStatement], ChainHeadStatement], named: str
) -> None:
    statement = decode_statement(signed_head(team, team.ref(ana)).data, ChainHeadStatement)

    def forge(files: dict[str, bytes]) -> None:
        files["head.json"] = signed_again(ana, change(statement))

    replaced(team, team.ref(ana), forge)
    bob = team.clone("bob")
    report = pull_from_git(bob, None)
    assert (codes(report), records_of(bob)) == (["HEAD-SIGNATURE"], 0)
    assert named in only(report).findings[0].what


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff",
        b'{"statement":"{}","key":"ssh-ed25519 AAAA","signature":"x"}',
        b'{"statement":' + b'"' + b"a" * 70_000 + b'"',
        b"[" * 10_000,
    ],
)
def test_a_hostile_statement_is_refused(team: Team, ana: Workspace, data: bytes) -> None:
    replaced(team, team.ref(ana), lambda files: files.update({"head.json": data}))
    bob = team.clone("bob")
    assert (only(pull_from_git(bob, None)).outcome, records_of(bob)) == ("refused", 0)


def test_a_forged_signature_is_refused(team: Team, ana: Workspace) -> None:
    signed = signed_head(team, team.ref(ana))
    make_private_key(team.folder / "mallory")
    forged = msgspec.structs.replace(signed, key=derive_public_key(team.folder / "mallory"))
    data = json.dumps(msgspec.to_builtins(forged)).encode()
    replaced(team, team.ref(ana), lambda files: files.update({"head.json": data}))
    report = pull_from_git(team.clone("bob"), None)
    assert codes(report) == ["HEAD-SIGNATURE"]
    assert "signature is invalid" in only(report).findings[0].what


def test_a_chain_of_an_old_version_is_taken_and_covered_once_it_is_signed(team: Team, ana: Workspace) -> None:
    def strip(files: dict[str, bytes]) -> None:
        for name in [name for name in files if name == "head.json" or name.startswith("outlines/")]:
            del files[name]

    team.remote.git("update-ref", "-d", WITNESS_REF)
    replaced(team, team.ref(ana), strip)
    bob = team.clone("bob")
    chain = only(pull_from_git(bob, None, witness=WitnessOptions(countersign=False)))
    assert (chain.outcome, chain.signed_by, chain.notes) == ("taken", None, [UNSIGNED, NO_COUNTERSIGNATURE])
    with bob.reading() as store:
        assert (list_statements(store, StoreId(chain.store)), store.tables.outline_digests(StoreId(chain.store))) == (
            [],
            [],
        )
    push_to_git(ana, None)
    chain = only(pull_from_git(bob, None))
    assert (chain.signed_by, answers(bob)) == (fingerprint_of(ana), answers(ana))
    with bob.reading() as store:
        assert len(store.tables.outline_digests(StoreId(chain.store))) == 10


def test_an_outline_stays_what_it_was_when_it_was_signed(
    team: Team, ana: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later version may write other outlines: those that were signed do not change."""
    before = team.shared(team.ref(ana))["chain/00000000.jsonl"]
    monkeypatch.setattr(heads_module, "encode_view_outline", lambda _views: b"[]")
    second = a_repository(team.folder / "second.git", bare=True)
    a_repository(team.folder / "ana").git("remote", "add", "second", f"file://{second.path}")
    push_to_git(ana, "second")
    assert second.git("cat-file", "blob", f"{team.ref(ana)}:chain/00000000.jsonl") == before


def test_erasing_and_sharing_texts_keep_the_tree(team: Team, ana: Workspace) -> None:
    bob = team.clone("bob")
    pull_from_git(bob, None)
    erase_record_bodies(ana, ["event-3"], who="ana", why="a secret")
    assert push_to_git(ana, None).chains[0].outcome == "sent"
    assert only(pull_from_git(bob, None)).outcome == "taken"
    push_to_git(ana, None, texts=True)
    assert only(pull_from_git(bob, None)).outcome == "taken"
    carol = team.clone("carol")
    assert only(pull_from_git(carol, None)).signed_by == fingerprint_of(ana)
    push_to_git(grown(ana), None)
    assert [only(pull_from_git(one, None)).outcome for one in (bob, carol)] == ["taken", "taken"]
    assert answers(carol) == answers(bob) == answers(ana)
    assert verify_ledger(bob).findings == verify_ledger(carol).findings == []


def test_a_forged_outline_of_another_chain_does_not_reach_this_one(team: Team, ana: Workspace) -> None:
    """A payload can be in two chains: an outline that came first with the other one is not the owner's."""
    bob = team.clone("bob")
    with ana.reading() as store:
        own = store.own()
        assert own is not None
        record = next(record for record in store.tables.records(own) if record.entry.kind == "call")
    with bob.writing() as store, store.writing():
        store.tables.put_outline(record.entry.digest, b"[]")
    assert only(pull_from_git(bob, None)).outcome == "taken"
    with bob.reading() as store, ana.reading() as there:
        assert len(store.views.read_views(record)) == len(there.views.read_views(record)) > 0


def test_the_listed_key_decides_whether_a_pulled_chain_is_enrolled(team: Team, ana: Workspace) -> None:
    bob = team.clone("bob")
    chain = StoreId(only(pull_from_git(bob, None)).store)
    keys = {"right": key_of(ana), "wrong": key_of(bob)}
    with bob.reading() as store:
        policies = {name: TeamPolicy({"ana": TeamStore(chain, key)}) for name, key in keys.items()}
        ratings = {name: rate_store_chains(store, None, policy, NOON * NS) for name, policy in policies.items()}
    assert ratings["right"].rate_chain(chain) is Assurance.ENROLLED
    assert ratings["wrong"].rate_chain(chain) is Assurance.SELF_REPORTED


# --- what others saw --------------------------------------------------------------------------------------------------


def test_a_roll_back_is_refused_by_whoever_saw_more(team: Team, ana: Workspace) -> None:
    old = team.remote.git("rev-parse", team.ref(ana)).decode().strip()
    bob = team.clone("bob")
    push_to_git(grown(ana, 2), None)
    pull_from_git(bob, None)
    team.remote.git("update-ref", team.ref(ana), old)
    report = pull_from_git(bob, None)
    assert (report.outcome, codes(report), records_of(bob)) == ("found", ["HEAD-ROLLBACK"], 12)
    what = only(report).findings[0].what
    assert "record 10 (link" in what
    assert "record 12 (link" in what
    assert "which this clone saw at 20" in what
    carol = team.clone("carol")
    report = pull_from_git(carol, None)
    assert (codes(report), records_of(carol)) == (["HEAD-ROLLBACK"], 0), "a fresh clone learns it from others"
    assert fingerprint_of(ana) in only(report).findings[0].what or fingerprint_of(bob) in only(report).findings[0].what
    assert codes(pull_from_git(ana, None)) == ["HEAD-ROLLBACK"], "its owner notices, too"
    push_to_git(ana, None)
    assert [only(pull_from_git(one, None)).outcome for one in (bob, carol)] == ["same", "taken"]


def test_a_signature_that_was_removed_is_noticed(team: Team, ana: Workspace) -> None:
    pull_from_git(team.clone("bob"), None)

    def strip(files: dict[str, bytes]) -> None:
        del files["head.json"], files["outlines/00000000"]

    replaced(team, team.ref(ana), strip)
    carol = team.clone("carol")
    assert (codes(pull_from_git(carol, None)), records_of(carol)) == (["HEAD-SIGNATURE"], 0)


def test_a_removed_chain_is_named_until_it_is_accepted(team: Team, ana: Workspace) -> None:
    bob = team.clone("bob")
    pull_from_git(bob, None)
    ref = team.ref(ana)
    team.remote.git("update-ref", "-d", ref)
    for workspace in (bob, team.clone("carol")):
        report = pull_from_git(workspace, None)
        assert (codes(report), "no records" in only(report).findings[0].what) == (["HEAD-ROLLBACK"], True)
    chain = StoreId(ref.rpartition("/")[2])
    assert pull_from_git(bob, None, witness=WitnessOptions(accepted=frozenset((chain,)))).chains == []


@pytest.mark.parametrize(
    ("link", "root", "at", "code"),
    [
        (bytes(32), None, None, "CHAIN-FORK"),
        (None, bytes(32), None, "OUTLINE-CHANGED"),
        (None, None, 1, "HEAD-ROLLBACK"),
    ],
)
def test_forked_and_rewritten_chains_are_refused(
    team: Team, ana: Workspace, link: bytes | None, root: bytes | None, at: int | None, code: str
) -> None:
    """Let a clone remember another head than the one that the remote has: the same or an earlier record."""
    bob = team.clone("bob")
    pull_from_git(bob, None)
    remote = hash_remote_url(team.url)
    for is_earlier in (False, True):
        with bob.writing() as store, store.writing():
            (seen,) = list_seen_heads(store, remote).values()
            assert seen.root is not None
            assert seen.signed_ns is not None
            put_seen_heads(
                store,
                remote,
                [
                    SeenHead(
                        seen.store,
                        seen.seq,
                        seen.link if link is None else Link(link),
                        seen.root if root is None else TreeHash(root),
                        seen.signed_ns + (at or 0),
                        seen.signer,
                        seen.seen_ns,
                    )
                ],
            )
        report = pull_from_git(bob, None)
        if is_earlier and code == "HEAD-ROLLBACK":
            assert only(report).outcome == "taken", "a later head replaces an earlier statement"
        else:
            assert codes(report) == [code]
            assert (
                "this clone saw at" in only(report).findings[0].what
                or "but this clone saw" in only(report).findings[0].what
            )
        push_to_git(grown(ana), None) if not is_earlier else None


def test_two_countersignatures_at_once_both_arrive(team: Team, ana: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    bob, carol = team.clone("bob"), team.clone("carol")
    push = Exchange.push
    first: list[str] = []

    def race(self: Exchange, url: object, name: str, commit: str, old: str | None) -> None:
        if name == WITNESS_REF and not first:
            first.append(name)
            pull_from_git(carol, None)
        push(self, url, name, commit, old)  # type: ignore[arg-type]

    monkeypatch.setattr(Exchange, "push", race)
    pull_from_git(bob, None)
    chain = team.ref(ana).rpartition("/")[2]
    wanted = {name_witness_entry(chain, key_of(one)) for one in (ana, bob, carol)}
    assert set(team.shared(WITNESS_REF)) == wanted


def test_a_countersignature_that_cannot_be_written_is_a_warning(
    team: Team, ana: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings: list[str] = []
    bob = replace(team.clone("bob"), talk=warnings.append)
    push = Exchange.push

    def refuse(self: Exchange, url: object, name: str, *rest: object) -> None:
        if name == WITNESS_REF:
            raise RemoteMoveError("someone else pushed") if len(warnings) % 2 else GitError("read-only")
        push(self, url, name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Exchange, "push", refuse)
    assert only(pull_from_git(bob, None)).outcome == "taken"
    assert warnings == ["cannot countersign the heads at the remote: read-only"]


def test_countersignatures_are_written_only_on_request(team: Team, ana: Workspace) -> None:
    before = team.remote.git("rev-parse", WITNESS_REF)
    bob = team.clone("bob")
    pull_from_git(bob, None, dry_run=True)
    pull_from_git(bob, None, witness=WitnessOptions(countersign=False))
    assert team.remote.git("rev-parse", WITNESS_REF) == before


def test_a_named_key_countersigns(team: Team, ana: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    make_private_key(team.folder / "ci")
    monkeypatch.setenv("CUSTODY_WITNESS_KEY", str(team.folder / "ci"))
    pull_from_git(team.clone("bob"), None)
    public = derive_public_key(team.folder / "ci")
    assert name_witness_entry(team.ref(ana).rpartition("/")[2], public) in team.shared(WITNESS_REF)


def forged_entry(team: Team, ana: Workspace, **fields: object) -> tuple[str, bytes]:
    """Return a countersignature by mallory, with a statement about ana's chain by mallory's own key."""
    key = team.folder / "mallory"
    if not key.exists():
        make_private_key(key)
    statement = decode_statement(signed_head(team, team.ref(ana)).data, ChainHeadStatement)
    statement = msgspec.structs.replace(statement, **fields)
    data = encode_statement(statement)
    head = StatementEnvelope(data.decode(), derive_public_key(key), sign_message(data, key, HEAD_NAMESPACE))
    seen = HeadSighting(
        1,
        "head-seen",
        statement.repository,
        statement.store,
        statement.seq,
        statement.link,
        statement.root,
        f"sha256:{head.digest.hex()}",
        statement.at,
    )
    data = encode_statement(seen)
    signed = StatementEnvelope(data.decode(), head.key, sign_message(data, key, WITNESS_NAMESPACE))
    return name_witness_entry(statement.store, head.key), encode_witness_entry(WitnessEntry(1, signed, head))


def test_a_statement_by_another_key_proves_nothing_where_the_owner_is_known(team: Team, ana: Workspace) -> None:
    bob = team.clone("bob")
    pull_from_git(bob, None)
    name, data = forged_entry(team, ana, seq=99)
    replaced(team, WITNESS_REF, lambda files: files.update({name: data}))
    assert only(pull_from_git(bob, None)).outcome == "same"
    report = pull_from_git(team.clone("carol"), None)
    assert codes(report) == ["HEAD-ROLLBACK"], "without any policy two keys contradict each other"


def test_countersignatures_of_other_repositories_and_other_shapes_are_ignored(team: Team, ana: Workspace) -> None:
    warnings: list[str] = []
    bob = replace(team.clone("bob"), talk=warnings.append)
    name, other = forged_entry(team, ana, seq=99, repository=("0" * 40,))
    entry = json.loads(forged_entry(team, ana, seq=99)[1])
    entry["seen"]["statement"] = entry["seen"]["statement"].replace('"seq":99', '"seq":98')
    tampered = json.dumps(entry).encode()

    def plant(files: dict[str, bytes]) -> None:
        files.update({name: other, "junk": b"junk", f"{'a' * 32}/{'b' * 32}.json": other, "big.json": b" " * 70_000})

    replaced(team, WITNESS_REF, plant)
    assert only(pull_from_git(bob, None)).outcome == "taken"
    assert sum("another repository" in text for text in warnings) == 1
    assert sum(text.startswith("ignored the countersignature") for text in warnings) == 3
    replaced(team, WITNESS_REF, lambda files: files.update({name: tampered}))
    assert only(pull_from_git(bob, None)).outcome == "same"
    with pytest.raises(InputError, match="differs"):
        check_witness_entry(decode_statement_file(tampered, WitnessEntry, bytes_max=1 << 16))


def test_a_wrapped_statement_of_somebody_else_counts_for_no_key(team: Team, ana: Workspace) -> None:
    bob = team.clone("bob")
    pull_from_git(bob, None)
    carol = team.clone("carol")
    pull_from_git(carol, None)
    (entry,) = (
        data
        for name, data in team.shared(WITNESS_REF).items()
        if name_witness_entry(team.ref(ana).rpartition("/")[2], key_of(bob)) == name
    )
    make_private_key(team.folder / "mallory")
    public = derive_public_key(team.folder / "mallory")
    value = json.loads(entry)
    value["seen"]["key"] = public
    name = name_witness_entry(team.ref(ana).rpartition("/")[2], public)
    replaced(team, WITNESS_REF, lambda files: files.update({name: json.dumps(value).encode()}))
    assert format_key_fingerprint(public) not in only(pull_from_git(carol, None)).countersigned_by


# --- exports ----------------------------------------------------------------------------------------------------------


def test_an_export_carries_signed_heads(team: Team, ana: Workspace) -> None:
    file = team.folder / "export.jsonl"
    export_chains_to_file(ana, file)
    assert file.read_bytes() == (export_chains_to_file(ana, file), file.read_bytes())[1]
    bob = team.clone("bob")
    assert import_chain_export(bob, file).findings == []
    with bob.reading() as store, ana.reading() as there:
        own = there.own()
        assert own is not None
        assert list_statements(store, own) == [signed_head(team, team.ref(ana))]
    carol = team.clone("carol")
    pull_from_git(carol, None)
    export_chains_to_file(carol, file)
    assert import_chain_export(team.clone("dave"), file).findings == []


def test_a_changed_outline_in_an_export_is_refused(team: Team, ana: Workspace) -> None:
    import hashlib

    bob, file = team.clone("bob"), team.folder / "export.jsonl"
    pull_from_git(bob, None)
    export_chains_to_file(bob, file)
    lines = file.read_bytes().replace(b'\\"c10\\"', b'\\"c99\\"').splitlines(keepends=True)[:-1]
    end = json.dumps({"digest": f"sha256:{hashlib.sha256(b''.join(lines)).hexdigest()}", "line": "end"})
    file.write_bytes(b"".join(lines) + end.encode() + b"\n")
    report = import_chain_export(team.clone("carol"), file)
    assert {finding.code for finding in report.findings} == {"OUTLINE-CHANGED"}
