"""Chains through a service: copied verbatim, rejected as a whole, and the same answers at the other end."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from custody.attribution.app.blame import blame
from custody.core.errors import WorldError
from custody.core.ids import StoreId
from custody.core.paths import Lines
from custody.core.record import chain_tip_from_record
from custody.core.tree_head import TreeHash, verify_consistency_proof
from custody.core.wire.head_statement import (
    HEAD_NAMESPACE,
    ChainHeadStatement,
    StatementEnvelope,
    decode_statement,
    encode_statement,
    format_key_fingerprint,
)
from custody.core.wire.report import encode_report
from custody.ledger.records import erase_record_bodies
from custody.ledger.verify import verify_ledger
from custody.server.auth import CallerLimits
from custody.share import remote as client
from custody.share import service_heads
from custody.share.chain_exchange import iterate_chain_lines
from custody.share.chain_intake import NO_COUNTERSIGNATURE, UNSIGNED
from custody.share.heads import find_owner_statements
from custody.share.queries import list_statements
from custody.share.remote import NamedRemote, RemoteService, ServiceRefusal
from custody.share.service_heads import list_witness_entries, read_chain_heads
from custody.share.service_transport import open_remote_cache, pull_from_service, push_to_service
from custody.share.wire import PullReport, PushReport, SharedHead, encode_share_manifest, make_share_manifest
from custody.signing import derive_public_key, make_private_key, sign_message
from custody.store.tables import encode_stored_outline
from custody.workspace.store_key import KEY_FILE, read_store_public_key
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.events import an_event
from tests.builders.lines import an_edit_event, moment
from tests.builders.repo import a_repository
from tests.builders.service import ALL, OTHER, Asked, TestKeeper, a_keeper, asked, bearer, listening
from tests.builders.team import NEW, SECRETS, Team, ana_of, answers, recorded

NDJSON = {"Content-Type": "application/x-ndjson"}


@dataclass
class Served:
    """A service on loopback, its keeper, and the team around it."""

    remote: NamedRemote
    keeper: TestKeeper
    team: Team

    @property
    def workspace(self) -> Workspace:
        return self.keeper.workspaces["default"]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    keeper = a_keeper(Workspace(a_git_folder(tmp_path / "service")), Workspace(a_git_folder(tmp_path / "other")))
    with listening(keeper, CallerLimits()) as port:
        yield Served(NamedRemote("team", f"http://127.0.0.1:{port}", ALL), keeper, Team(tmp_path))


@pytest.fixture
def ana(served: Served) -> Workspace:
    return ana_of(served.team)


def outcomes(report: PushReport | PullReport) -> list[tuple[str, int]]:
    return [(chain.outcome, chain.new) for chain in report.chains]


def test_a_fresh_clone_answers_the_same_through_a_service(served: Served, ana: Workspace) -> None:
    assert outcomes(push_to_service(ana, served.remote)) == [("sent", 10)]
    assert outcomes(push_to_service(ana, served.remote)) == [("same", 0)]
    bob = served.team.clone("bob")
    assert outcomes(pull_from_service(bob, served.remote, dry_run=True)) == [("waits", 10)]
    assert outcomes(pull_from_service(bob, served.remote)) == [("taken", 10)]
    assert outcomes(pull_from_service(bob, served.remote)) == [("same", 0)]
    assert answers(bob) == answers(ana)
    assert (verify_ledger(bob).findings, verify_ledger(bob).withheld) == ([], 7)
    assert (verify_ledger(served.workspace).findings, verify_ledger(served.workspace).withheld) == ([], 7)
    assert outcomes(pull_from_service(ana, served.remote)) == [("own", 0)]


def test_no_text_reaches_the_service_without_being_asked_for(served: Served, ana: Workspace) -> None:
    push_to_service(ana, served.remote)
    home = served.workspace.home
    assert home is not None
    with served.workspace.reading() as store:
        bodies = store.tables.bodies(set(store.tables.body_digests()))
    kept = b"".join((body.data or b"") + (body.outline or b"") for body in bodies.values()).decode("utf-8", "replace")
    assert not [word for word in SECRETS if word in kept]


def test_excerpts_of_prompts_come_and_go_with_the_rule_of_the_base(served: Served, ana: Workspace) -> None:
    built, chain = a_repository(ana.folder), served.team.ref(ana).rpartition("/")[2]
    push_to_service(ana, served.remote)
    bob = served.team.clone("bob")
    for value, count in (("true", 1), ("false", 0)):
        tip = built.head()
        built.commit({b"custody.toml": f"[review]\npublish_prompts = {value}\n".encode()}, tip)
        built.git("push", "--quiet", "origin", "main")
        report = push_to_service(ana, served.remote)
        assert [(one.outcome, one.new, one.prompts) for one in report.chains] == [("sent", 0, count)]
        assert outcomes(push_to_service(ana, served.remote)) == [("same", 0)]
        pulled = pull_from_service(bob, served.remote)
        assert [(one.outcome, one.prompts) for one in pulled.chains if one.store == chain] == [("taken", count)]
    with RemoteService(served.remote) as service, pytest.raises(ServiceRefusal):
        service.post(f"/api/v1/chains/{chain}/prompts", b"{}", "application/json")


def test_what_is_new_goes_on_where_it_ends(served: Served, ana: Workspace) -> None:
    push_to_service(ana, served.remote)
    bob = served.team.clone("bob")
    pull_from_service(bob, served.remote)
    recorded(ana, an_edit_event("app.py", NEW, NEW + "one_more_line = 1\n", at=50), prefix="later")
    assert outcomes(push_to_service(ana, served.remote, dry_run=True)) == [("waits", 1)]
    assert outcomes(push_to_service(ana, served.remote)) == [("sent", 1)]
    assert outcomes(pull_from_service(bob, served.remote)) == [("taken", 1)]
    erase_record_bodies(ana, ["event-3"], who="ana", why="a secret")
    push_to_service(ana, served.remote)
    pull_from_service(bob, served.remote)
    assert answers(bob) == answers(ana)


def test_texts_need_their_scope_and_each_read_is_noted(served: Served, ana: Workspace) -> None:
    push_to_service(ana, served.remote, texts=True)
    bob = served.team.clone("bob")
    with pytest.raises(ServiceRefusal, match="denied access"):
        pull_from_service(bob, replace(served.remote, token="read"), texts=True)
    assert verify_ledger(bob).records == 0
    assert outcomes(pull_from_service(bob, replace(served.remote, token="read"))) == [("taken", 10)]
    assert (answers(bob) == answers(ana), verify_ledger(bob).withheld) == (True, 7)
    assert not served.keeper.reads
    assert outcomes(pull_from_service(bob, served.remote, texts=True)) == [("taken", 0)]
    assert (verify_ledger(bob).findings, verify_ledger(bob).withheld) == ([], 0)
    assert answers(bob) == answers(ana)
    assert served.keeper.reads


def test_long_chains_are_sent_and_received_in_parts(
    served: Served, ana: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("custody.share.service_transport.BATCH_RECORDS_MAX", 3)
    monkeypatch.setattr("custody.share.service_transport.BATCH_BYTES_MAX", 2000)
    push_to_service(ana, served.remote)
    bob = served.team.clone("bob")
    assert outcomes(pull_from_service(bob, served.remote)) == [("taken", 10)]
    assert answers(bob) == answers(ana)


def test_remote_answers_have_the_same_bytes_as_local_ones(served: Served, ana: Workspace) -> None:
    """Compare Bob's own evidence and the service's: queried remotely, or pulled first and queried here."""
    push_to_service(ana, served.remote)
    bob = served.team.clone("bob")
    recorded(bob, an_edit_event("new_name.py", None, NEW, at=60, session="bobs"), prefix="bobs")
    before = encode_report(blame(bob, "new_name.py").report)
    there = open_remote_cache(bob, served.remote)
    asked_for = [("new_name.py", None), ("app.py", "HEAD~3"), ("like.py", None), ("like.py", "HEAD~1")]
    remote = [
        encode_report(blame(there, file, revision=revision, line_ranges=[Lines(1, 3)], profile=profile).report)
        for file, revision in asked_for
        for profile in ("lineage", "document")
    ]
    assert encode_report(blame(bob, "new_name.py").report) == before, "nothing is mixed into our own store"
    assert verify_ledger(bob).records == 1
    pull_from_service(bob, served.remote)
    local = [
        encode_report(blame(bob, file, revision=revision, line_ranges=[Lines(1, 3)], profile=profile).report)
        for file, revision in asked_for
        for profile in ("lineage", "document")
    ]
    assert remote == local
    assert any('"class":"agent"' in one.decode() for one in remote)
    again = open_remote_cache(bob, served.remote)
    assert encode_report(blame(again, "new_name.py", line_ranges=[Lines(1, 3)], profile="lineage").report) == local[0]


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Asked]:
    with asked(
        a_keeper(Workspace(a_git_folder(tmp_path / "service")), Workspace(a_git_folder(tmp_path / "other")))
    ) as made:
        yield made


def a_stretch(tmp_path: Path, count: int = 3, *, after: int = 0) -> bytes:
    """Return the bytes that a push sends for a small chain."""
    folder = tmp_path / "sender"
    if not folder.exists():
        workspace = Workspace(a_git_folder(folder))
        recorded(workspace, *(an_event("decision", id=str(n), at=moment(n)) for n in range(5)))
    with Workspace(folder).reading() as store:
        chain = store.own()
        assert chain is not None
        head = next(record for record in store.tables.records(chain) if record.seq == count)
        lines = list(iterate_chain_lines(store, chain, after=after, until=count, texts=False))
        return encode_share_manifest(make_share_manifest(chain_tip_from_record(head), texts=False, tips=[])) + b"".join(
            lines
        )


def post(service: Asked, body: bytes, token: str = ALL) -> tuple[int, dict[str, object]]:
    answer = service.client.post("/api/v1/chains", content=body, headers={**bearer(token), **NDJSON})
    return answer.status_code, json.loads(answer.content)


def test_a_part_is_stored_once_and_continued(service: Asked, tmp_path: Path) -> None:
    first = a_stretch(tmp_path)
    assert post(service, first)[0] == 201
    status, kept = post(service, first)
    assert (status, kept["new"], kept["seq"]) == (200, 0, 3)
    assert post(service, a_stretch(tmp_path, 5, after=3))[0] == 201
    assert post(service, first)[0] == 200
    assert post(service, a_stretch(tmp_path, 5))[0] == 200, "the whole again"
    held = json.loads(service.get("/api/v1/chains").content)["chains"]
    assert [(one["seq"], one["own"]) for one in held] == [(5, False)]
    assert verify_ledger(service.workspace).findings == []


def test_a_gap_is_a_conflict_and_leaves_nothing(service: Asked, tmp_path: Path) -> None:
    status, problem = post(service, a_stretch(tmp_path, 5, after=3))
    assert (status, problem["type"]) == (409, "urn:custody:problem:conflict")
    assert verify_ledger(service.workspace).records == 0


def test_a_fork_is_a_conflict_and_leaves_what_is_kept(service: Asked, tmp_path: Path) -> None:
    post(service, a_stretch(tmp_path))
    other = a_stretch(tmp_path, 3).replace(b'"at_ns":', b'"at_ns":1')
    assert post(service, other)[0] in (409, 422)
    about, _, rest = a_stretch(tmp_path, 3).partition(b"\n")
    lied = json.loads(about) | {"link": "0" * 64}
    assert post(service, json.dumps(lied).encode() + b"\n" + rest)[0] == 409
    assert (verify_ledger(service.workspace).records, verify_ledger(service.workspace).findings) == (3, [])


@pytest.mark.parametrize(
    "body", [b"", b"{}\n", b"not json\n", b'{"custody":2}\n', b"\xff\n", b'{"custody":1,"store":"x"}\n', b"[]\n" * 3]
)
def test_an_invalid_chain_is_refused(service: Asked, body: bytes) -> None:
    assert post(service, body)[0] == 422
    assert verify_ledger(service.workspace).records == 0


def test_damaged_records_are_refused_whole(service: Asked, tmp_path: Path) -> None:
    whole = a_stretch(tmp_path)
    for old, new in ((b'\\"robot\\"', b'\\"human\\"'), (b'"kind":"decision"', b'"kind":"prompt"')):
        assert old in whole
        assert post(service, whole.replace(old, new))[0] in (409, 422)
    assert post(service, b"".join(whole.splitlines(keepends=True)[:-1]))[0] == 409, "the end is missing"
    assert verify_ledger(service.workspace).records == 0


def test_the_services_own_chain_is_its_own(service: Asked, tmp_path: Path) -> None:
    service.send("evidence", json.loads(an_event("prompt", text="hello")))
    with service.workspace.reading() as store:
        own = store.own()
    body = a_stretch(tmp_path)
    chain = json.loads(body.partition(b"\n")[0])["store"]
    assert post(service, body.replace(chain.encode(), str(own).encode()))[0] == 409


def test_scopes_and_projects_are_kept_apart(service: Asked, tmp_path: Path) -> None:
    body = a_stretch(tmp_path)
    assert post(service, body, "read")[0] == 403
    assert post(service, body, "unknown")[0] == 401
    assert post(service, body)[0] == 201
    assert service.get("/api/v1/chains", "write").status_code == 403
    assert json.loads(service.get("/api/v1/chains", "of-another-project").content) == {"chains": []}
    chain = json.loads(body.partition(b"\n")[0])["store"]
    assert service.get(f"/api/v1/chains/{chain}", "of-another-project").content == b""
    assert len(service.get(f"/api/v1/chains/{chain}?after=2").content.splitlines()) == 2
    assert service.get(f"/api/v1/chains/{chain}?texts=true", "read").status_code == 403
    for wrong in ("x", f"{chain}?after=-1", f"{chain}?after=x", f"{chain}/origins?digest=x"):
        assert service.get(f"/api/v1/chains/{wrong}").status_code == 422
    assert service.get(f"/api/v1/chains/{chain}/origins?digest=sha256:{'0' * 64}").status_code == 404


def test_a_push_that_fails_changes_nothing_and_says_what_waits(served: Served, ana: Workspace) -> None:
    for wrong in (replace(served.remote, url="http://127.0.0.1:9"), replace(served.remote, token="wrong-secret")):
        with pytest.raises((WorldError, ServiceRefusal)) as caught:
            push_to_service(ana, wrong)
        assert "wrong-secret" not in str(caught.value)
    assert verify_ledger(ana).findings == []
    assert outcomes(push_to_service(ana, served.remote)) == [("sent", 10)]


def test_a_service_that_asks_to_wait_is_asked_again(served: Served) -> None:
    waits: list[float] = []
    answers = iter([(503, {"retry-after": "2"}), (429, {}), (200, {})])
    with RemoteService(served.remote, sleep=waits.append) as remote:
        remote._send_once = lambda *_: client._Answer(*next(answers), b"{}")  # type: ignore[method-assign]
        assert remote.get("/x") == b"{}"
    assert waits == [2.0, 1.0]


# --- signed heads and countersignatures -------------------------------------------------------------------------------


def heads_of(served: Served, workspace: Workspace) -> list[SharedHead]:
    with workspace.reading() as store:
        own = store.own()
    assert own is not None
    return read_chain_heads(served.workspace, own, after=0).heads


def key_of(workspace: Workspace) -> str:
    key = read_store_public_key(workspace.home)
    assert key is not None
    return key


def test_a_service_stores_signed_heads_and_countersigns_them(served: Served, ana: Workspace) -> None:
    push_to_service(ana, served.remote)
    (shared,) = heads_of(served, ana)
    assert shared.head.key == key_of(ana)
    bob = served.team.clone("bob")
    (chain,) = pull_from_service(bob, served.remote).chains
    ours, theirs = format_key_fingerprint(key_of(ana)), format_key_fingerprint(key_of(served.workspace))
    assert (chain.signed_by, chain.countersigned_by, chain.notes) == (ours, [theirs], [])
    carol = served.team.clone("carol")
    (chain,) = pull_from_service(carol, served.remote).chains
    assert chain.countersigned_by == sorted((theirs, format_key_fingerprint(key_of(bob))))
    with carol.reading() as store:
        assert shared.head in list_statements(store, StoreId(chain.store))


def test_a_token_that_may_only_read_does_not_countersign(served: Served, ana: Workspace) -> None:
    push_to_service(ana, served.remote)
    warnings: list[str] = []
    bob = replace(served.team.clone("bob"), talk=warnings.append)
    assert outcomes(pull_from_service(bob, replace(served.remote, token="read"))) == [("taken", 10)]
    assert [text.partition(":")[0] for text in warnings] == ["cannot countersign the heads at the service"]
    assert len(list_witness_entries(served.workspace).entries) == 1


def test_a_rolled_back_service_is_noticed(served: Served, ana: Workspace, tmp_path: Path) -> None:
    push_to_service(ana, served.remote)
    home = served.workspace.home
    assert home is not None
    shutil.copytree(home, tmp_path / "backup")
    recorded(ana, an_edit_event("app.py", NEW, NEW + "one_more_line = 1\n", at=50), prefix="later")
    push_to_service(ana, served.remote)
    bob = served.team.clone("bob")
    pull_from_service(bob, served.remote)
    entries = list_witness_entries(served.workspace)
    shutil.rmtree(home)
    shutil.copytree(tmp_path / "backup", home)
    for workspace in (bob, ana):
        (chain,) = pull_from_service(workspace, served.remote).chains
        assert [finding.code for finding in chain.findings] == ["HEAD-ROLLBACK"]
    with RemoteService(served.remote) as service:
        service.post("/api/v1/witness", json.dumps(msgspec.to_builtins(entries)).encode(), "application/json")
    (chain,) = pull_from_service(served.team.clone("carol"), served.remote).chains
    assert [finding.code for finding in chain.findings] == ["HEAD-ROLLBACK"], "a fresh clone learns it from others"
    assert outcomes(push_to_service(ana, served.remote)) == [("sent", 1)]
    assert outcomes(pull_from_service(bob, served.remote)) == [("same", 0)]


def grown_chain(served: Served, ana: Workspace) -> Workspace:
    """Return a clone that saw a head which the service's chain has extended since."""
    push_to_service(ana, served.remote)
    bob = served.team.clone("bob")
    pull_from_service(bob, served.remote)
    recorded(ana, *(an_edit_event("app.py", NEW, f"{NEW}line = {n}\n", at=50 + n) for n in range(3)), prefix="later")
    push_to_service(ana, served.remote)
    return bob


def test_a_service_proves_that_a_head_extends_the_seen_one(served: Served, ana: Workspace) -> None:
    bob = grown_chain(served, ana)
    (chain,) = pull_from_service(bob, served.remote, dry_run=True).chains
    known = (*heads_of(served, ana), *bob_heads(bob))
    seen, earlier = (decode_statement(head.head.data, ChainHeadStatement) for head in known)
    (shared,) = read_chain_heads(served.workspace, StoreId(chain.store), after=0, seen=earlier.seq).heads
    proof = [TreeHash(bytes.fromhex(node)) for node in shared.proof or ()]
    assert proof and verify_consistency_proof(earlier.seq, earlier.tree_root, seen.seq, seen.tree_root, proof)
    for outside in (0, seen.seq + 1):
        (shared,) = read_chain_heads(served.workspace, StoreId(chain.store), after=0, seen=outside).heads
        assert shared.proof is None
    assert outcomes(pull_from_service(bob, served.remote)) == [("taken", 3)]


def bob_heads(bob: Workspace) -> list[SharedHead]:
    """Return the signed heads that a clone stored, the newest first."""
    with bob.reading() as store:
        (chain,) = [head.store for head in store.tables.chains() if head.seq]
        return [SharedHead(signed, 0, "") for _, signed in find_owner_statements(store, chain)]


@pytest.mark.parametrize(
    ("proof", "says"), [(None, "sent no proof"), ([], "cannot prove"), (["0" * 64] * 3, "cannot prove")]
)
def test_a_head_without_a_valid_proof_is_refused_before_any_record_is_read(
    served: Served, ana: Workspace, monkeypatch: pytest.MonkeyPatch, proof: list[str] | None, says: str
) -> None:
    bob = grown_chain(served, ana)
    monkeypatch.setattr(service_heads, "_prove_extension", lambda *_: proof)
    for dry_run in (True, False):
        (chain,) = pull_from_service(bob, served.remote, dry_run=dry_run).chains
        (finding,) = chain.findings
        assert (chain.outcome, finding.code) == ("refused", "CHAIN-FORK")
        assert f"the remote {says} that record 13 " in finding.what
        assert "extends record 10 " in finding.what and "which this clone saw at " in finding.what
    assert verify_ledger(bob).records == 10
    carol = served.team.clone("carol")
    assert outcomes(pull_from_service(carol, served.remote)) == [("refused", 0)], "bob countersigned the earlier head"


def test_outlines_that_the_service_changes_are_refused(served: Served, ana: Workspace) -> None:
    push_to_service(ana, served.remote)
    with served.workspace.writing() as store, store.writing():
        (digest,) = (
            record.entry.digest
            for head in store.tables.chains()
            for record in store.tables.records(head.store)
            if record.entry.kind == "call"
        )
        store.db.run("UPDATE body SET bytes = ? WHERE digest = ?", (encode_stored_outline(b"[]"), digest))
    bob = served.team.clone("bob")
    (chain,) = pull_from_service(bob, served.remote).chains
    assert [finding.code for finding in chain.findings] == ["OUTLINE-CHANGED"]
    assert verify_ledger(bob).records == 0


def test_heads_that_do_not_fit_are_refused(served: Served, ana: Workspace) -> None:
    push_to_service(ana, served.remote)
    (shared,) = heads_of(served, ana)
    statement = decode_statement(shared.head.data, ChainHeadStatement)
    assert ana.home is not None
    answers_of = []
    changes: list[dict[str, object]] = [
        {"root": "0" * 64},
        {"link": "0" * 64},
        {"seq": 11},
        {"at": 1},
        {"origins": f"sha256:{'0' * 64}"},
        {"store": "0" * 32},
    ]
    for change in changes:
        data = encode_statement(msgspec.structs.replace(statement, **change))
        signed = StatementEnvelope(
            data.decode(), shared.head.key, sign_message(data, ana.home / KEY_FILE, HEAD_NAMESPACE)
        )
        body = json.dumps(msgspec.to_builtins(msgspec.structs.replace(shared, head=signed))).encode()
        with RemoteService(served.remote) as service, pytest.raises(ServiceRefusal) as caught:
            service.post(f"/api/v1/chains/{statement.store}/head", body, "application/json")
        answers_of.append(caught.value.status)
    assert answers_of == [409, 409, 422, 409, 409, 422]
    assert heads_of(served, ana) == [shared]


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"\xff", b'{"head":1}', b'{"entries":[{}]}', b"[" * 5000])
def test_hostile_heads_and_countersignatures_are_refused(service: Asked, body: bytes) -> None:
    headers = {**bearer(), "Content-Type": "application/json"}
    for path in (f"/api/v1/chains/{'a' * 32}/head", "/api/v1/witness"):
        assert service.client.post(path, content=body, headers=headers).status_code == 422
    assert json.loads(service.get("/api/v1/witness").content) == {"entries": []}
    assert json.loads(service.get(f"/api/v1/chains/{'a' * 32}/head").content) == {"heads": []}
    assert service.get("/api/v1/witness", "write").status_code == 403


def test_a_service_of_an_older_version_gets_the_records(
    served: Served, ana: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = RemoteService._request

    def refuse(self: RemoteService, method: str, path: str, *rest: object) -> bytes:
        if path.endswith("/witness") or "/head" in path:
            raise ServiceRefusal(404, "unknown path")
        return request(self, method, path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(RemoteService, "_request", refuse)
    warnings: list[str] = []
    assert outcomes(push_to_service(replace(ana, talk=warnings.append), served.remote)) == [("sent", 10)]
    assert warnings == ["the service is too old for signed heads"]
    (chain,) = pull_from_service(served.team.clone("bob"), served.remote).chains
    assert (chain.outcome, chain.notes) == ("taken", [UNSIGNED, NO_COUNTERSIGNATURE])


def test_several_keys_for_one_chain_need_a_policy(served: Served, ana: Workspace) -> None:
    push_to_service(ana, served.remote)
    (shared,) = heads_of(served, ana)
    make_private_key(served.team.folder / "mallory")
    public = derive_public_key(served.team.folder / "mallory")
    data = shared.head.data
    forged = StatementEnvelope(
        data.decode(), public, sign_message(data, served.team.folder / "mallory", HEAD_NAMESPACE)
    )
    body = json.dumps(msgspec.to_builtins(msgspec.structs.replace(shared, head=forged))).encode()
    statement = decode_statement(data, ChainHeadStatement)
    with RemoteService(served.remote) as service:
        service.post(f"/api/v1/chains/{statement.store}/head", body, "application/json")
    bob = served.team.clone("bob")
    (chain,) = pull_from_service(bob, served.remote).chains
    assert [finding.code for finding in chain.findings] == ["HEAD-SIGNATURE"]
    assert "[stores] in custody.toml" in chain.findings[0].what
    listed = f'[stores]\nana = {{ id = "{statement.store}", key = "{key_of(ana)}" }}\n'
    a_repository(bob.folder).commit({b"custody.toml": listed.encode()}, ref="refs/heads/main")
    (chain,) = pull_from_service(replace(bob), served.remote).chains
    assert (chain.outcome, chain.signed_by) == ("taken", format_key_fingerprint(key_of(ana)))


def test_countersignatures_of_unknown_chains_and_keys_are_refused(served: Served, ana: Workspace) -> None:
    push_to_service(ana, served.remote)
    entries = list_witness_entries(served.workspace)
    body = json.dumps(msgspec.to_builtins(entries)).encode()
    with RemoteService(served.remote) as service:
        assert json.loads(service.post("/api/v1/witness", body, "application/json")) == {"new": 0}
        with served.workspace.writing() as store, store.writing():
            store.db.run("DELETE FROM head_statement")
        with pytest.raises(ServiceRefusal, match="unknown key of chain"):
            service.post("/api/v1/witness", body, "application/json")
    with (
        RemoteService(replace(served.remote, token=OTHER)) as other,
        pytest.raises(ServiceRefusal, match="unknown chain"),
    ):
        other.post("/api/v1/witness", body, "application/json")
    assert list_witness_entries(served.workspace).entries == []


def test_a_pulled_chain_of_the_service_has_its_signature(served: Served, ana: Workspace) -> None:
    recorded(served.workspace, an_event("decision", id="by-the-service", at=moment(70)), prefix="service")
    bob = Workspace(served.team.clone("bob").folder)  # with the clock of the service
    (chain,) = pull_from_service(bob, served.remote).chains
    theirs = format_key_fingerprint(key_of(served.workspace))
    assert (chain.outcome, chain.signed_by) == ("taken", None), "the service does not know the repository yet"
    assert "before the repository had a commit" in chain.notes[0]
    push_to_service(ana, served.remote)
    with served.workspace.reading() as store:
        own = store.own()
    (chain,) = (chain for chain in pull_from_service(bob, served.remote).chains if chain.store == own)
    assert (chain.outcome, chain.signed_by) == ("same", theirs)
    recorded(served.workspace, an_event("decision", id="and-another", at=moment(71)), prefix="service-2")
    assert sorted(outcomes(pull_from_service(bob, served.remote))) == [("same", 0), ("taken", 1)]
