"""Records and tables that are deleted, erased, rolled back or edited in place."""

import functools
import hashlib
import hmac
import json
import os
import shutil
import sqlite3
from contextlib import closing

from custody.core.wire.canonical import Json, dump_canonical_json
from custody.store.seal import Seal
from tests.attacks.decisions import A1
from tests.attacks.ground import APP, DAY, GOOD, NS, OWNER, an_event_of
from tests.attacks.model import Attacker, Setting, WayIn
from tests.attacks.registry import AttackBook
from tests.attacks.target import Target

BOOK = AttackBook()

BECAUSE = ("--actor", "ana", "--reason", "it broke the build")


def _sql(target: Target, *statements: str) -> None:
    """Edit the store's file behind custody's back."""
    with closing(sqlite3.connect(target.custody_home / "custody.db")) as database, database:
        for statement in statements:
            database.execute(statement)


def _query_last_record(target: Target) -> int:
    with closing(sqlite3.connect(target.custody_home / "custody.db")) as database:
        return int(database.execute("SELECT max(seq) FROM record").fetchone()[0])


def _note_a_gap(target: Target) -> None:
    """Judge the trusted change; recording failed while it was made."""
    target.judge_branch("trusted")
    with (target.custody_home / "gaps").open("a") as file:
        file.write(f"{(target.ground.now - 3600) * NS} the disk was full\n")


@BOOK.attack(A1, WayIn.FILES, does="deletes the list of gaps in the recording", prepare=_note_a_gap)
def deleted_gaps(target: Target) -> None:
    (target.custody_home / "gaps").unlink()


def _date_around_gap(target: Target, days: int) -> None:
    text = target.home.git("cat-file", "blob", f"{target.ground.heads['trusted']}:{APP}")
    files = {**target.files, APP.encode(): text}
    at, ref = target.ground.now + days * DAY, "refs/heads/dated"
    target.judge_head(target.home.commit(files, target.ground.base, author=OWNER.encode(), at=at, ref=ref))


def _check_gap_counts(target: Target) -> None:
    assert target.verdict is not None
    if target.ground.setting is not Setting.ALONE:
        assert target.verdict.level != "approve", "a forged date hid a gap in the recording"


for _days, _when in ((-14, "before"), (30, "after")):
    BOOK.attack(
        A1,
        WayIn.FILES,
        name=f"commit-dated-{_when}-a-gap",
        does=f"dates its commit {_when} a gap in the recording",
        prepare=_note_a_gap,
        check=_check_gap_counts,
        writes_records=False,
    )(functools.partial(_date_around_gap, days=_days))


def _reject_good_commits(target: Target) -> None:
    """Reject everything that the agent with a good record did."""
    target.judge_branch("trusted")
    target.notes["last"] = _query_last_record(target)
    for commit in target.ground.good:
        target.run("trust", "record", GOOD, "rejected", "--overrides", commit, *BECAUSE)


def _check_damage_blocks(target: Target) -> None:
    assert target.verdict is not None
    assert target.verdict.level != "approve", "the gate approved although records or tables were deleted"


@BOOK.attack(
    A1,
    WayIn.FILES,
    does="deletes rejections from the table that scores are computed from",
    prepare=_reject_good_commits,
    check=_check_damage_blocks,
)
def deleted_decision_rows(target: Target) -> None:
    _sql(target, f"DELETE FROM decision WHERE seq > {target.notes['last']}", "DELETE FROM trust_standing")


@BOOK.attack(
    A1,
    WayIn.FILES,
    does="deletes the records of rejections from the chain",
    prepare=_reject_good_commits,
    check=_check_damage_blocks,
)
def deleted_records(target: Target) -> None:
    _sql(
        target,
        f"DELETE FROM record WHERE seq > {target.notes['last']}",
        f"DELETE FROM decision WHERE seq > {target.notes['last']}",
    )


@BOOK.attack(
    A1,
    WayIn.FILES,
    does="moves rejections to another agent in the table",
    prepare=_reject_good_commits,
    check=_check_damage_blocks,
)
def edited_decision_rows(target: Target) -> None:
    moved = f"UPDATE decision SET agent = 'another' WHERE seq > {target.notes['last']}"
    _sql(target, moved, "DELETE FROM trust_standing")


def _seal_store(target: Target, key: bytes) -> None:
    """Seal the store as it is now."""
    database = target.custody_home / "custody.db"
    with closing(sqlite3.connect(database)) as connection:
        heads = dict(connection.execute("SELECT store_id, max(seq) FROM record GROUP BY store_id"))
    fields: dict[str, Json] = {"looks": Seal(database).describe_files(), "verified": heads}
    mac = hmac.new(key, b"seal\n" + dump_canonical_json(fields), hashlib.sha256).hexdigest()
    (target.custody_home / "seal").write_text(json.dumps({**fields, "mac": mac}))


def _verify_with_rejections(target: Target) -> None:
    _reject_good_commits(target)
    assert target.run("verify").status == 0
    assert (target.custody_home / "seal").is_file()


@BOOK.attack(
    A1,
    WayIn.FILES,
    does="deletes rejections and seals the store, without the folder's key",
    prepare=_verify_with_rejections,
    check=_check_damage_blocks,
)
def guessed_seal(target: Target) -> None:
    deleted_decision_rows(target)
    _seal_store(target, bytes(32))


@BOOK.attack(
    A1,
    WayIn.FILES,
    does="deletes rejections, and puts the seal and the times of an earlier check back",
    prepare=_verify_with_rejections,
    check=_check_damage_blocks,
)
def restored_seal(target: Target) -> None:
    database, seal = target.custody_home / "custody.db", target.custody_home / "seal"
    before, earlier = seal.read_bytes(), database.stat()
    deleted_decision_rows(target)
    os.utime(database, ns=(earlier.st_atime_ns, earlier.st_mtime_ns))
    seal.write_bytes(before)


@BOOK.attack(
    A1,
    WayIn.FILES,
    does="deletes rejections and seals the store, with another key for the folder",
    prepare=_verify_with_rejections,
    check=_check_damage_blocks,
)
def replaced_key(target: Target) -> None:
    deleted_decision_rows(target)
    (target.custody_home / "key").write_bytes(bytes(32))
    _seal_store(target, bytes(32))


@BOOK.attack(
    A1,
    WayIn.FILES,
    does="deletes rejections and seals the store, with the folder's own key",
    prepare=_verify_with_rejections,
)
def forged_seal(target: Target) -> None:
    deleted_decision_rows(target)
    _seal_store(target, (target.custody_home / "key").read_bytes())


@BOOK.attack(A1, WayIn.CLI, does="erases the rejections", prepare=_reject_good_commits)
def erased_rejections(target: Target) -> None:
    last = target.notes["last"]
    for number in range(last + 1, _query_last_record(target) + 1):
        target.run("erase", str(number), "--reason", "not needed", "--yes")


def _remember_store(target: Target) -> None:
    shutil.copytree(target.custody_home, target.folder / "earlier")
    _reject_good_commits(target)


@BOOK.attack(A1, WayIn.FILES, does="puts an older copy of the whole store back", prepare=_remember_store)
def restored_older_store(target: Target) -> None:
    shutil.rmtree(target.custody_home)
    shutil.copytree(target.folder / "earlier", target.custody_home)


@BOOK.attack(A1, WayIn.FILES, does="deletes the store", prepare=_reject_good_commits, check=_check_damage_blocks)
def deleted_store(target: Target) -> None:
    shutil.rmtree(target.custody_home)


DUPLICATES = "dupe_change", "dupe_exact", "dupe_post", "dupe_term"


def _index_a_duplicate(target: Target) -> None:
    """Judge the trusted change; the index holds another open change with the same diff."""
    target.judge_branch("trusted")
    text = target.home.git("cat-file", "blob", f"{target.ground.heads['trusted']}:{APP}")
    target.notes["other"] = target.commit({**target.files, APP.encode(): text}, message=b"mine", ref="refs/heads/mine")
    target.run("dupes", "index", "--workers", "1")


@BOOK.attack(A1, WayIn.FILES, does="deletes the rows of a duplicate from the index", prepare=_index_a_duplicate)
def deleted_index_rows(target: Target) -> None:
    _sql(target, *(f"DELETE FROM {table}" for table in DUPLICATES))


@BOOK.attack(A1, WayIn.CLI, does="answers itself that its change is not a duplicate", prepare=_index_a_duplicate)
def typed_duplicate_answer(target: Target) -> None:
    head, base = target.ground.heads["trusted"], target.ground.base
    target.run("dupes", "label", head, target.notes["other"], "different", "--actor", "ana")
    answer = {"head": head, "base": base, "other_head": target.notes["other"], "other_base": base, "actor": "ana"}
    target.record(an_event_of("duplicate_answer", answer="different", **answer))


@BOOK.attack(
    Attacker.OPERATOR,
    WayIn.FILES,
    does="rewrites a record in the database and leaves its digest",
    prepare=_reject_good_commits,
    check=_check_damage_blocks,
)
def rewritten_record(target: Target) -> None:
    bodies = f"SELECT digest FROM record WHERE seq > {target.notes['last']}"
    _sql(target, f"UPDATE body SET codec = 'plain', bytes = CAST('{{}}' AS BLOB) WHERE digest IN ({bodies})")


@BOOK.attack(
    Attacker.OPERATOR,
    WayIn.FILES,
    does="deletes decisions and the heads that are stored beside the database",
    prepare=_reject_good_commits,
)
def truncated_database(target: Target) -> None:
    _sql(
        target,
        f"DELETE FROM record WHERE seq > {target.notes['last']}",
        f"DELETE FROM decision WHERE seq > {target.notes['last']}",
        "DELETE FROM trust_standing",
    )
    for head in target.custody_home.glob("head-*"):
        head.unlink()
