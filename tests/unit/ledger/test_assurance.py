"""Which chains a policy enrolls: its own by its key, others by a statement that the listed key signed."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest

from custody.config import TeamPolicy, TeamStore
from custody.core.assurance import Assurance
from custody.core.ids import StoreId
from custody.core.record import ChainTip
from custody.core.wire.canonical import dump_canonical_json
from custody.core.wire.head_statement import HEAD_NAMESPACE
from custody.ledger.assurance import rate_store_chains
from custody.signing import sign_message
from custody.store import Store
from custody.workspace.store_key import KEY_FILE, ensure_store_key
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.hooks import a_recorded_edit
from tests.builders.repo import a_repository

NOW_NS = 1_769_900_000 * 10**9
AT = "2026-01-31T12:00:00Z"


@dataclass
class Team:
    """A store with its own chain, and the chain of another store."""

    mine: Workspace
    key: str
    own: StoreId
    other: Workspace
    other_key: str
    theirs: ChainTip

    def policy(self, **fields: object) -> TeamPolicy:
        """Return a policy that lists both stores; fields replace those of the other one."""
        listed = {"id": self.theirs.store, "key": self.other_key, **fields}
        return TeamPolicy({"me": TeamStore(self.own, self.key), "other": TeamStore(**listed)})  # type: ignore[arg-type]

    def state(self, head: ChainTip, namespace: str = HEAD_NAMESPACE, signer: str | None = None) -> None:
        """Store a statement about the other chain, signed by the other store's key."""
        home = self.other.home
        assert home is not None
        statement = dump_canonical_json({"store": head.store, "seq": int(head.seq), "link": head.link.hex()})
        row = (
            self.theirs.store,
            int(head.seq),
            signer or self.other_key,
            statement,
            sign_message(statement, home / KEY_FILE, namespace),
        )
        with self.mine.writing() as store, store.writing():
            store.db.run(
                "INSERT INTO head_statement (store_id, seq, signer, statement, signature) VALUES (?, ?, ?, ?, ?)", row
            )

    def rated(self, policy: TeamPolicy, now_ns: int = NOW_NS) -> tuple[Assurance, Assurance]:
        """Return the assurance of the own and of the other chain."""
        with self.mine.reading() as store:
            ratings = rate_store_chains(store, self.key, policy, now_ns)
        return ratings.rate_chain(self.own), ratings.rate_chain(self.theirs.store)


@pytest.fixture
def team(tmp_path: Path) -> Team:
    spaces = []
    for name in ("mine", "other"):
        built = a_repository(tmp_path / name)
        built.commit({b"a.py": b"1\n"})
        spool_of(built.path).put(a_recorded_edit("a.py", "", f"{name}\n", root=built.path, at=AT))
        spaces.append(Workspace(built.path, now_ns=lambda: NOW_NS))
    mine, other = spaces
    assert mine.home is not None and other.home is not None
    with mine.writing() as store, other.reading() as source:
        (theirs,) = source.tables.chains()
        copy(source, store)
        own = store.own()
    assert own is not None
    return Team(mine, ensure_store_key(mine.home), own, other, ensure_store_key(other.home), theirs)


def copy(source: Store, into: Store) -> None:
    """Copy every chain of a store, as a pull does."""
    from custody.store.store import _iterate_chain_items

    into.copy(_iterate_chain_items(source, source.tables.chains()))
    with into.writing():
        for head in source.tables.chains():
            into.tables.mark_pulled(head.store)


SELF, ENROLLED = Assurance.SELF_REPORTED, Assurance.ENROLLED


def test_without_a_policy_every_chain_is_self_reported(team: Team) -> None:
    team.state(team.theirs)
    assert team.rated(TeamPolicy()) == (SELF, SELF)


def test_a_listed_chain_is_enrolled_once_its_key_vouches_for_it(team: Team) -> None:
    assert team.rated(team.policy()) == (ENROLLED, SELF), "the other chain is not signed"
    team.state(team.theirs)
    assert team.rated(team.policy()) == (ENROLLED, ENROLLED)


def test_its_own_chain_needs_its_own_key(team: Team) -> None:
    policy = TeamPolicy({"me": TeamStore(team.own, team.other_key)})
    assert team.rated(policy)[0] is SELF
    with team.mine.reading() as store:
        assert rate_store_chains(store, None, team.policy(), NOW_NS).rate_chain(team.own) is SELF


def test_a_statement_counts_only_as_it_was_signed(team: Team) -> None:
    head = team.theirs
    wrong = [
        (ChainTip(head.store, head.seq, type(head.link)(bytes(32))), HEAD_NAMESPACE, None),
        (ChainTip(team.own, head.seq, head.link), HEAD_NAMESPACE, None),
        (head, "git", None),
    ]
    for tip, namespace, signer in wrong:
        with team.mine.writing() as store, store.writing():
            store.db.run("DELETE FROM head_statement")
        team.state(tip, namespace, signer)
        assert team.rated(team.policy())[1] is SELF, (tip, namespace)


def test_another_key_or_an_expired_one_enrolls_nothing(team: Team) -> None:
    team.state(team.theirs, signer=team.key)
    assert team.rated(team.policy(key=team.key))[1] is SELF, "the signature is by another key than the row says"
    with team.mine.writing() as store, store.writing():
        store.db.run("DELETE FROM head_statement")
    team.state(team.theirs)
    assert team.rated(team.policy(expires=date(2026, 1, 30)))[1] is SELF
    assert team.rated(team.policy(expires=date(2026, 12, 30)))[1] is ENROLLED


def test_records_beyond_the_signed_head_are_not_covered(team: Team) -> None:
    team.state(team.theirs)
    spool_of(team.other.folder).put(a_recorded_edit("b.py", "", "later\n", root=team.other.folder, at=AT, id="2"))
    with team.other.reading() as source, team.mine.writing() as store:
        copy(source, store)
    assert team.rated(team.policy())[1] is SELF


def test_a_record_is_rated_by_its_chain_and_a_claim_never_above_self_reported(team: Team) -> None:
    team.state(team.theirs)
    spool_of(team.mine.folder).put(an_event("edit", at=AT, agent="claude-code"))
    with team.mine.reading() as store:
        ratings = rate_store_chains(store, team.key, team.policy(role="witness"), NOW_NS)
        rated = {
            (record.store, record.entry.kind): ratings.rate_record(record) for record in store.tables.newest(9, None)
        }
    assert rated == {
        (team.own, "hook"): ENROLLED,
        (team.own, "edit"): SELF,
        (team.theirs.store, "hook"): Assurance.WITNESSED,
    }
    assert ratings.rate_chain(team.theirs.store) is ENROLLED
    assert ratings.believed == {team.own, team.theirs.store}
    assert ratings.list_equals(team.theirs.store) == {team.theirs.store}
