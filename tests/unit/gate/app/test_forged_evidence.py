"""Forged, replayed and re-dated evidence at the gate: none makes a verdict milder, and each is named.

Attacks use the ways that people have: importers, the hook, the spool, the database's file. An event that this machine's
recorder gets for the first time is a record like any other: custody cannot tell who sent it, and no case claims that.
"""

import json
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from custody.attribution.lineage import UNKNOWN, LineOrigin
from custody.attribution.origin_search import VersionLine
from custody.attribution.packing import pack_version_origins
from custody.capture import TRANSCRIPT_READERS
from custody.capture.hook.durable import write_spool_event
from custody.core.errors import InputError
from custody.core.wire.report import encode_report
from custody.core.wire.time import format_timestamp
from custody.gate.wire.report import GateReport
from custody.intake.import_events import import_event_file
from custody.intake.import_traces import import_traces
from custody.intake.import_transcripts import import_transcripts
from custody.share.export import export_chains_to_file, import_chain_export
from custody.store import open_sqlite
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.hooks import an_edit, installed, run_hook
from tests.builders.judged import ADDED, DAY, LEVELS, NEW, NS, OLD, Judged, codes, shown
from tests.builders.traces import OTHER_TRACE, TRACE, a_conversation, a_link, a_range, a_trace, written
from tests.builders.transcripts import Transcript, a_transcript

YEAR = 365 * DAY
Do = Callable[[Judged], None]


@dataclass(frozen=True, slots=True)
class Case:
    """The initial situation, the attack, and the word that names it afterwards."""

    begin: Do
    forge: Do
    named: str


# --- initial situations -----------------------------------------------------------------------------------------------


def unknown(world: Judged) -> None:
    """Let an agent with a good record work elsewhere; the author of the lines is unknown."""
    world.decide(12)
    world.edit(path="b.py", before="", after="elsewhere = 1\n")


def known(world: Judged) -> None:
    """Record that an agent with a good record wrote the lines: the change can merge."""
    world.decide(12)
    world.edit()


def stranger(world: Judged) -> None:
    """Record that an agent without decisions wrote them, while another agent has a good record."""
    world.decide(12)
    world.edit(agent="stranger")


def newcomer(world: Judged) -> None:
    """Record that an agent without decisions wrote them."""
    world.edit()


def distrusted(world: Judged) -> None:
    """Record that an always rejected agent wrote them."""
    world.decide(40, decision="rejected")
    world.edit()


def rejected(world: Judged) -> None:
    """Reject this change, by an agent with a good record."""
    known(world)
    world.tell("decision", 60, id="no", decision="rejected", head=world.second, commit=world.second)


def spent(world: Judged) -> None:
    """Use up the agent's budget."""
    known(world)
    world.tell("decision", -60, id="u", **_landed(499))


def _landed(lines: int) -> dict[str, Any]:
    return {"unreviewed": True, "changed_lines": lines, "head": "c" * 40, "areas": ["."], "actor": "ci"}


# --- Agent Trace files ------------------------------------------------------------------------------------------------


def _hash() -> str:
    return f"sha256:{sha256(ADDED.rstrip(chr(10)).encode()).hexdigest()[:16]}"


def _trace(world: Judged, at: int = -30, **fields: Any) -> dict[str, Any]:
    said = fields.pop("said", {})
    conversation = a_conversation(a_range(3, 4, content_hash=_hash()), **said)
    revision = {"type": "git", "revision": world.first}
    return a_trace(
        "a.py", conversation, **({"timestamp": format_timestamp((world.noon + at) * NS), "vcs": revision} | fields)
    )


def traces(*lines: Callable[[Judged], dict[str, Any]]) -> Do:
    """Import a file of traces."""

    def forge(world: Judged) -> None:
        file = written(world.built.path.parent / "traces.jsonl", *(line(world) for line in lines))
        world.answers.append(encode_report(import_traces(world.workspace, file)).decode())

    return forge


def own_traces(world: Judged) -> None:
    """Put the traces into the work tree, as another tool would."""
    folder = world.built.path / ".agent-trace"
    written(folder / "traces.jsonl", _trace(world))
    written(folder / "commit-links.jsonl", a_link(world.second, TRACE))


TRACES: Mapping[str, Case] = {
    "trace": Case(unknown, traces(_trace), "ATTR-WEAK"),
    "trace-with-confidence": Case(
        unknown, traces(lambda world: _trace(world, metadata={"confidence": 1.0, "tier": 1})), "ATTR-WEAK"
    ),
    "trace-with-grade": Case(
        unknown, traces(lambda world: _trace(world, metadata={"grade": "attested", "verified": True})), "ATTR-WEAK"
    ),
    "trace-linked": Case(unknown, traces(_trace, lambda world: a_link(world.second, TRACE)), "ATTR-WEAK"),
    "trace-linked-elsewhere": Case(unknown, traces(_trace, lambda _: a_link("f" * 40, TRACE)), "ATTR-WEAK"),
    "link-of-no-trace": Case(unknown, traces(lambda world: a_link(world.second, OTHER_TRACE)), "ATTR-NONE"),
    "trace-before-the-base": Case(
        unknown, traces(lambda world: _trace(world, at=-YEAR), lambda world: a_link(world.second, TRACE)), "ATTR-WEAK"
    ),
    "trace-after-the-commit": Case(
        unknown, traces(lambda world: _trace(world, at=DAY), lambda world: a_link(world.second, TRACE)), "ATTR-WEAK"
    ),
    "trace-of-the-future": Case(unknown, traces(lambda world: _trace(world, at=YEAR)), "with a time in the future"),
    "trace-under-two-ids": Case(unknown, traces(_trace, lambda world: _trace(world, id=OTHER_TRACE)), "ATTR-WEAK"),
    "trace-told-otherwise": Case(
        unknown, traces(_trace, lambda world: _trace(world, tool={"name": "another"})), "was recorded 2 times"
    ),
    "trace-of-a-person": Case(unknown, traces(lambda world: _trace(world, said={"who": "human"})), "ATTR-NONE"),
    "trace-of-another-revision": Case(
        unknown, traces(lambda world: _trace(world, vcs={"type": "git", "revision": "e" * 40})), "ATTR-"
    ),
    "trace-of-no-version": Case(unknown, traces(lambda world: _trace(world, version="99.0")), "99.0"),
    "traces-in-the-work-tree": Case(unknown, own_traces, "ATTR-WEAK"),
}


# --- files of events --------------------------------------------------------------------------------------------------


def events(*lines: Callable[[Judged], bytes]) -> Do:
    """Import a file of events."""

    def forge(world: Judged) -> None:
        file = world.built.path.parent / "events.jsonl"
        file.write_bytes(b"".join(line(world) + b"\n" for line in lines))
        world.answers.append(encode_report(import_event_file(world.workspace, file)).decode())

    return forge


def edit(at: int = -30, **fields: Any) -> Callable[[Judged], bytes]:
    return lambda world: world.event("edit", at, **(world.an_edit() | {"id": "f1"} | fields))


def decision(number: int, **fields: Any) -> Callable[[Judged], bytes]:
    return lambda world: world.event(
        "decision", -3600 * (number + 1), **({"id": f"f{number}", "changed_lines": 50, "commit": world.first} | fields)
    )


def _override(world: Judged) -> bytes:
    told = {"decision": "accepted", "overrides": "no", "actor": "boss", "reason": "it is fine"}
    return world.event("decision", 90, id="yes", head=world.second, commit=world.second, **told)


EVENTS: Mapping[str, Case] = {
    "imported-edit": Case(unknown, events(edit()), "ATTR-WEAK"),
    "imported-edit-long-before": Case(unknown, events(edit(at=-YEAR)), "ATTR-"),
    "imported-edit-after-the-commit": Case(unknown, events(edit(at=2 * 3600)), "ATTR-NONE"),
    "imported-edit-of-the-future": Case(unknown, events(edit(at=YEAR)), "with a time in the future"),
    "imported-session-twice": Case(unknown, events(edit(), edit(session="s2")), "ATTR-WEAK"),
    "imported-edit-of-another-commit": Case(unknown, events(edit(head="f" * 40)), "ATTR-WEAK"),
    "imported-edit-as-a-persons": Case(unknown, events(edit(proposed=OLD)), "ATTR-WEAK"),
    "imported-edit-as-a-persons-over-an-agents": Case(
        newcomer, events(lambda world: world.event("edit", -40, **(world.an_edit() | {"proposed": OLD}))), "ATTR-WEAK"
    ),
    "imported-edit-with-a-grade": Case(unknown, events(edit(grade="attested")), "grade"),
    "imported-decisions": Case(newcomer, events(*(decision(n) for n in range(12))), "imported"),
    "imported-decisions-of-the-past": Case(newcomer, events(*(decision(n + 24 * 30) for n in range(12))), "imported"),
    "imported-decisions-against-rejections": Case(distrusted, events(*(decision(n) for n in range(40))), "imported"),
    "imported-recovery": Case(
        distrusted,
        events(decision(0, decision="recovered", boost=0.9, actor="boss", reason="because")),
        "TRUST-UNTRUSTED",
    ),
    "imported-override": Case(rejected, events(_override), "TRUST-REJECTED"),
}


# --- events that the recorder gets again
# -------------------------------------------------------------------------------


def told(kind: str, at: int, **fields: Any) -> Do:
    """Send the event to the recorder again."""
    return lambda world: world.tell(kind, at, **fields)


def told_edit(at: int = -30, **fields: Any) -> Do:
    return lambda world: world.edit(at, **fields)


def one_decision_often(world: Judged) -> None:
    for number in range(12):
        world.decide(1, id="same", reason=str(number))


def edited_spool(world: Judged) -> None:
    """Change a waiting event before it is ingested."""
    spool = spool_of(world.built.path)
    path = spool.folder / spool.names()[-1]
    path.write_bytes(path.read_bytes().replace(b"claude-code", b"claude-kode"))


def strange_spool(world: Judged) -> None:
    """Put a foreign file among the waiting events, with a name like theirs."""
    spool = spool_of(world.built.path)
    (spool.folder / spool.names()[-1].replace("1", "2")).write_bytes(world.event("decision", -5, id="x"))


def unread_spool(world: Judged) -> None:
    spool = spool_of(world.built.path)
    (spool.folder / spool.names()[-1]).write_bytes(b"{}")


def refused_spool(at: int) -> Do:
    """Put an event that cannot be ingested among the waiting ones, recorded at a time relative to the commit."""

    def add(world: Judged) -> None:
        name = f"{(world.noon + at) * 10**9:020d}-1-{'a' * 16}"
        write_spool_event(str(spool_of(world.built.path).folder), name, b'{"custody":1,"kind":{}}')

    return add


TOLD: Mapping[str, Case] = {
    "edit-again-with-another-text": Case(known, told_edit(after=OLD + ADDED + "more = lines(1)\n"), "ATTR-WEAK"),
    "edit-again-as-a-persons": Case(newcomer, told_edit(proposed=OLD), "ATTR-WEAK"),
    "edit-again-at-another-time": Case(known, told_edit(at=-90), "recorded 2 times"),
    "edit-again-of-another-file": Case(known, told_edit(path="b.py"), "ATTR-WEAK"),
    "edit-by-a-better-agent": Case(
        stranger,
        told_edit(at=-60, id="e9"),
        "ATTR-WEAK",
    ),
    "edit-by-a-better-agent-later": Case(
        stranger,
        told_edit(at=-5, id="e9"),
        "ATTR-WEAK",
    ),
    "edit-by-a-person-instead": Case(newcomer, told_edit(at=-60, id="e9", proposed=OLD), "TRUST-SAMPLES"),
    "edit-by-a-person-afterwards": Case(newcomer, told_edit(at=-5, id="e9", proposed=OLD), "ATTR-WEAK"),
    "override-by-itself": Case(
        rejected,
        told("decision", 90, id="yes", decision="accepted", overrides="no", actor="claude-code", reason="it is fine"),
        "TRUST-REJECTED",
    ),
    "edit-after-the-commit": Case(unknown, told_edit(at=3 * 3600), "ATTR-NONE"),
    "decisions-about-another": Case(newcomer, lambda world: world.decide(12, agent="other"), "TRUST-SAMPLES"),
    "decisions-by-itself": Case(newcomer, lambda world: world.decide(12, actor="claude-code"), "TRUST-SAMPLES"),
    "one-decision-often": Case(
        newcomer,
        one_decision_often,
        "was recorded 12 times",
    ),
    "decision-of-the-future": Case(known, told("decision", YEAR, id="later"), "TRUST-CLOCK"),
    "landing-again-at-another-time": Case(
        spent, lambda world: world.tell("decision", -2 * DAY, id="u", **_landed(499)), "TRUST-BUDGET"
    ),
    "landing-again-smaller": Case(
        spent, lambda world: world.tell("decision", -60, id="u", **_landed(1)), "TRUST-BUDGET"
    ),
    "spool-changed": Case(known, edited_spool, "SPOOL-DAMAGED"),
    "spool-strange": Case(known, strange_spool, "SPOOL-DAMAGED"),
    "spool-emptied": Case(known, unread_spool, "SPOOL-DAMAGED"),
    "spool-refused": Case(known, refused_spool(-60), "SPOOL-REFUSED"),
    "spool-refused-of-another-time": Case(known, refused_spool(-YEAR), "SPOOL-REFUSED"),
    "spool-refused-against-rejections": Case(distrusted, refused_spool(-60), "SPOOL-REFUSED"),
}


# --- chains of others -------------------------------------------------------------------------------------------------


def elsewhere(world: Judged, begin: Do) -> tuple[Judged, Path]:
    """Make the same commits in another repository with other records, and export that."""
    other = Judged(world.built.path.parent / "elsewhere", world.noon)
    begin(other)
    export_chains_to_file(other.drained().workspace, world.built.path.parent / "export")
    return other, world.built.path.parent / "export"


def overridden(world: Judged) -> None:
    spool_of(world.built.path).put(_override(world))


def chain_of(begin: Do) -> Do:
    """Import a self-made export."""

    def forge(world: Judged) -> None:
        report = import_chain_export(world.workspace, elsewhere(world, begin)[1])
        world.answers.append(encode_report(report).decode())

    return forge


def changed_export(change: Callable[[list[bytes]], list[bytes]], *, resealed: bool = True) -> Do:
    """Change an export on the way, optionally with a matching last line."""

    def forge(world: Judged) -> None:
        file = elsewhere(world, known)[1]
        lines = change(file.read_bytes().splitlines(keepends=True))
        if resealed:
            last = json.loads(lines[-1])
            digest = f"sha256:{sha256(b''.join(lines[:-1])).hexdigest()}"
            lines[-1] = json.dumps({**last, "digest": digest}, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        file.write_bytes(b"".join(lines))
        try:
            world.answers.append(encode_report(import_chain_export(world.workspace, file)).decode())
        except InputError as error:
            world.answers.append(error.message)

    return forge


def _redated(lines: list[bytes]) -> list[bytes]:
    place = next(n for n, line in enumerate(lines) if b'"at_ns"' in line)
    value = json.loads(lines[place])
    lines[place] = json.dumps({**value, "at_ns": value["at_ns"] - DAY * NS}, separators=(",", ":")).encode() + b"\n"
    return lines


def forked(world: Judged) -> None:
    """Continue a copy of the store elsewhere, in the same chain, and bring it back."""
    copy = world.built.path.parent / "copy"
    shutil.copytree(world.drained().built.path, copy)
    path = copy / ".git" / "custody" / "custody.db"
    with closing(open_sqlite(path)) as db:
        # The copy takes its folder for the original; otherwise it would start its own chain.
        db.run("UPDATE setting SET value = ? WHERE name = 'stamp'", (db.stamp(),))
    spool_of(copy).put(world.event("decision", -90, id="theirs"))
    world.tell("decision", -80, id="ours")
    export_chains_to_file(Workspace(copy, now_ns=world.workspace.now_ns), copy.parent / "export")
    world.answers.append(encode_report(import_chain_export(world.workspace, copy.parent / "export")).decode())


CHAINS: Mapping[str, Case] = {
    "chain-with-the-edit": Case(unknown, chain_of(newcomer), "ATTR-WEAK"),
    "chain-with-decisions": Case(newcomer, chain_of(lambda other: other.decide(12)), "imported"),
    "chain-with-an-override": Case(rejected, chain_of(overridden), "TRUST-REJECTED"),
    "chain-with-a-persons-edit": Case(newcomer, chain_of(lambda other: other.edit(proposed=OLD)), "recorded 2 times"),
    "export-changed": Case(unknown, changed_export(_redated, resealed=False), "was changed after it was written"),
    "export-redated": Case(unknown, changed_export(_redated), "CHAIN-LINK"),
    "export-cut": Case(
        unknown, changed_export(lambda lines: lines[:-1], resealed=False), "is incomplete: it ends after line"
    ),
    "export-without-its-end": Case(unknown, changed_export(lambda lines: [*lines[:-3], *lines[-2:]]), "CHAIN-CUT"),
    # Without its signed head the chain is still what a store that is not enrolled says: weak evidence, and named so.
    "export-without-its-signed-head": Case(
        unknown, changed_export(lambda lines: [*lines[:-2], lines[-1]]), "ATTR-WEAK"
    ),
    "chain-forked": Case(known, forked, "CHAIN-FORK"),
}


# --- transcripts ------------------------------------------------------------------------------------------------------


def transcripts(*sessions: Callable[[Judged], Transcript]) -> Do:
    def forge(world: Judged) -> None:
        folder = world.built.path.parent / "projects"
        for session in sessions:
            session(world).put(folder)
        report = import_transcripts(world.workspace, TRANSCRIPT_READERS["claude-code"], folder)
        world.answers.append(encode_report(report).decode())

    return forge


def a_session(name: str = "5d2f0c3e", at: int = -60, after: str = NEW, **more: Any) -> Callable[[Judged], Transcript]:
    def session(world: Judged) -> Transcript:
        made = a_transcript(f"{name}-1111-4222-8333-444455556666", world.built.path)
        made.at = format_timestamp((world.noon + at) * NS)
        return made.prompt("please").edit("a.py", OLD, OLD, after, **more)

    return session


def twice(world: Judged) -> Transcript:
    """Repeat a line of the export with another text."""
    made = a_session()(world)
    last = json.loads(json.dumps(made.lines[-1]).replace("alpha", "other"))
    made.lines.append(last)
    return made


TRANSCRIPTS: Mapping[str, Case] = {
    "transcript": Case(unknown, transcripts(a_session()), "ATTR-WEAK"),
    "transcript-with-another-text": Case(unknown, transcripts(a_session(after=OLD + "omega = 1\n")), "ATTR-NONE"),
    "transcript-after-the-commit": Case(unknown, transcripts(a_session(at=DAY)), "ATTR-NONE"),
    "transcript-twice": Case(unknown, transcripts(a_session(), a_session("6d2f0c3e", at=-30)), "ATTR-WEAK"),
    "transcript-of-a-person": Case(unknown, transcripts(a_session(after=OLD, applied=NEW)), "ATTR-WEAK"),
    "transcript-line-twice": Case(unknown, transcripts(twice), "ATTR-"),
}


# --- the hook ---------------------------------------------------------------------------------------------------------


def hooked(world: Judged) -> None:
    """Record by our own hook that an agent with a good record wrote the lines."""
    for number in range(12):
        world.tell("decision", -DAY - 3600 * number, id=f"d{number}", agent="claude-code", changed_lines=50)
    assert run_hook(installed(world.built.path), an_edit(world.built.path, "a.py", OLD, OLD, NEW)).status == 0


def unhooked(world: Judged) -> None:
    """Record by our own hook that it worked elsewhere."""
    for number in range(12):
        world.tell("decision", -DAY - 3600 * number, id=f"d{number}", agent="claude-code", changed_lines=50)
    assert run_hook(installed(world.built.path), an_edit(world.built.path, "b.py", "", "", "b = 1\n")).status == 0


def of_another_repository(world: Judged) -> None:
    """Send an event of another repository to this repository's hook."""
    there = world.built.path.parent / "there"
    there.mkdir()
    run_hook(world.built.path, an_edit(there, "a.py", OLD, OLD, NEW, call="toolu_02"))


def again(**changes: Any) -> Do:
    """Report the same call again, changed."""

    def forge(world: Judged) -> None:
        event = an_edit(world.built.path, "a.py", OLD, OLD, changes.get("new", NEW))
        event["tool_response"] |= changes.get("response", {})
        event["tool_input"] |= changes.get("given", {})
        run_hook(world.built.path, event)

    return forge


HOOKS: Mapping[str, Case] = {
    "hook-of-another-repository": Case(unhooked, of_another_repository, "ATTR-NONE"),
    "hook-again-with-another-text": Case(hooked, again(new=NEW + "more = 1\n"), "ATTR-WEAK"),
    "hook-again-as-a-persons": Case(
        hooked, again(response={"userModified": True}, given={"new_string": OLD}), "ATTR-WEAK"
    ),
}


# --- the database's own file ------------------------------------------------------------------------------------------


def sql(*statements: str) -> Do:
    """Change the database, like somebody with a shell."""

    def forge(world: Judged) -> None:
        world.said()  # cached answers exist, so that they can be forged
        with world.database() as db:
            for statement in statements:
                db.execute(statement)

    return forge


EDIT = "(SELECT max(seq) FROM record WHERE kind = 'hook')"
BODY = f"(SELECT digest FROM record WHERE seq = {EDIT})"
FIRST = "(SELECT digest FROM record WHERE seq = 1)"


def head_rewritten(world: Judged) -> None:
    """Delete the last records and rewrite the head, without the key."""
    sql("DELETE FROM record WHERE seq > 3")(world)
    with world.database() as db:
        ((link,),) = db.execute("SELECT hex(link) FROM record WHERE seq = 3").fetchall()
    value = json.loads(world.head_file().read_bytes())
    world.head_file().write_text(json.dumps({**value, "seq": 3, "link": link.lower()}))


def head_of_another(world: Judged) -> None:
    other, _ = elsewhere(world, known)
    world.drained()
    world.head_file().write_bytes(other.head_file().read_bytes())


def head_removed(world: Judged) -> None:
    world.drained()
    world.head_file().unlink()


def key_replaced(world: Judged) -> None:
    world.drained()
    (world.home / "key").write_bytes(b"k" * 32)


def agent_in_what_is_kept(world: Judged) -> None:
    """Change the replayed states so that they name an agent with a good record."""
    sql("UPDATE lineage_state SET agent = 'claude-code', observed = replace(observed, 'stranger', 'claude-code')")(
        world
    )


def origins_in_what_is_kept(world: Judged) -> None:
    """Attribute lines of an unknown author to a state of another file."""
    world.said()
    with world.database() as db:
        ((state,),) = db.execute("SELECT max(id) FROM lineage_state").fetchall()
        origins = _origins_of(state)
        db.execute("UPDATE lineage_version SET origins = ?", (origins,))


def _origins_of(state: int) -> bytes:
    lines = [VersionLine(0, False, UNKNOWN, ())] * 2 + [VersionLine(0, False, LineOrigin(state, 1.0), ())] * 2
    return pack_version_origins(lines, 1)


DATABASE: Mapping[str, Case] = {
    "body-changed": Case(
        known, sql(f"UPDATE body SET codec = 'plain', bytes = x'7b7d' WHERE digest = {BODY}"), "BODY-"
    ),
    "bodies-swapped": Case(
        known,
        sql(
            f"UPDATE body SET bytes = (SELECT bytes FROM body WHERE digest = {FIRST}),"
            f" codec = (SELECT codec FROM body WHERE digest = {FIRST}) WHERE digest = {BODY}"
        ),
        "BODY-CHANGED",
    ),
    "body-emptied": Case(known, sql(f"UPDATE body SET bytes = NULL WHERE digest = {BODY}"), "BODY-MISSING"),
    "body-gone": Case(known, sql(f"DELETE FROM body WHERE digest = {BODY}"), "BODY-MISSING"),
    "erasure-forged": Case(
        known,
        sql(
            f"UPDATE body SET bytes = NULL WHERE digest = {BODY}",
            f"INSERT INTO erasure (digest, store_id, seq) SELECT {BODY}, store_id, seq FROM record WHERE seq = 1",
        ),
        "BODY-MISSING",
    ),
    "record-changed-link": Case(
        known, sql(f"UPDATE record SET link = randomblob(32) WHERE seq = {EDIT}"), "CHAIN-LINK"
    ),
    "record-redated": Case(
        known, sql(f"UPDATE record SET at_ns = at_ns - {DAY * NS} WHERE seq = {EDIT}"), "CHAIN-LINK"
    ),
    "record-of-another-key": Case(
        known, sql(f"UPDATE record SET natural_key = 'event:other' WHERE seq = {EDIT}"), "CHAIN-LINK"
    ),
    "record-of-another-event": Case(known, sql("UPDATE record SET event_id = 'mine' WHERE seq = 2"), "CHAIN-LINK"),
    "record-of-another-kind": Case(known, sql("UPDATE record SET kind = 'session' WHERE seq = 2"), "CHAIN-LINK"),
    "record-with-anothers-payload": Case(
        known, sql(f"UPDATE record SET digest = {FIRST} WHERE seq = {EDIT}"), "CHAIN-LINK"
    ),
    "record-gone": Case(distrusted, sql("DELETE FROM record WHERE seq BETWEEN 2 AND 30"), "CHAIN-GAP"),
    "last-records-gone": Case(rejected, sql("DELETE FROM record WHERE seq > 12"), "CHAIN-CUT"),
    "all-records-gone": Case(known, sql("DELETE FROM record"), "CHAIN-CUT"),
    "records-swapped": Case(
        known,
        sql(
            "UPDATE record SET seq = -1 WHERE seq = 2",
            "UPDATE record SET seq = 2 WHERE seq = 3",
            "UPDATE record SET seq = 3 WHERE seq = -1",
        ),
        "CHAIN-LINK",
    ),
    "head-rewritten": Case(rejected, head_rewritten, "HEAD-FORGED"),
    "head-of-another": Case(known, head_of_another, "HEAD-"),
    "head-removed": Case(known, head_removed, "HEAD-MISSING"),
    "key-replaced": Case(known, key_replaced, "HEAD-FORGED"),
    "view-of-an-edit-changed": Case(known, sql("UPDATE file_edit SET session = 'mine'"), "VIEW-DIFFERS"),
    "view-of-a-decision-made": Case(
        newcomer,
        sql(
            "INSERT INTO decision (store_id, seq, n, agent, at_ns, id, unreviewed)"
            " SELECT store_id, seq, 0, 'claude-code', at_ns, 'd', 0 FROM record"
        ),
        "VIEW-DIFFERS",
    ),
    "agent-of-what-is-kept": Case(stranger, agent_in_what_is_kept, "INTEG-DAMAGE"),
    "origins-of-what-is-kept": Case(unknown, origins_in_what_is_kept, "INTEG-DAMAGE"),
}


# --- rules ------------------------------------------------------------------------------------------------------------


def milder_rules(world: Judged) -> None:
    """Add rules to the change that would let it merge."""
    rules = b'[gate.levels]\nATTR-NONE = "approve"\nATTR-WEAK = "approve"\n'
    world.second = world.built.commit(
        {b"a.py": NEW.encode(), b"custody.toml": rules}, world.first, at=world.noon, ref="refs/heads/main"
    )


def uncommitted_rules(world: Judged) -> None:
    """Put the rules into the work tree; they are not read, so nothing is reported."""
    (world.built.path / "custody.toml").write_text('[gate.levels]\nATTR-NONE = "approve"\n')


RULES: Mapping[str, Case] = {
    "rules-in-the-change": Case(unknown, milder_rules, "POLICY-CHANGED"),
    "rules-not-committed": Case(unknown, uncommitted_rules, "ATTR-NONE"),
}

# --- readings and calls -----------------------------------------------------------------------------------------------

PAGE = "https://example.org/rates"
REPORT = f"Rates rose to 4.5 % in 2023 [1].\n\n## Sources\n\n1. [Rates]({PAGE})\n"
LOGIN = "def login(user):\n    return check(user)\n"
CALLS_RULES = b'[gate]\ncalls = "on"\ncalls_learnt_min = 60\n'
"""The rules of the gate in the worlds of calls."""


def reported(world: Judged) -> None:
    """Cite a page that the session never opened, as an agent with a good record; it opened another one."""
    known(world)
    _commit(world, {b"docs/report.md": REPORT.encode()})
    read = {"tool_name": "WebFetch", "tool_use_id": "r1", "tool_input": {"url": "https://example.org/other"}}
    world.hook("PostToolUse", -90, {**read, "tool_response": {"code": 200, "result": "other"}}, id="r1", call="r1")
    world.edit(id="e2", path="docs/report.md", before="", after=REPORT)


def called(world: Judged) -> None:
    """Change a risky file after unusual calls."""
    known(world)
    world.base = world.built.commit(
        {b"a.py": OLD.encode(), b"custody.toml": CALLS_RULES}, world.first, at=world.noon - 7100
    )
    files = {b"a.py": NEW.encode(), b"custody.toml": CALLS_RULES, b"src/auth/login.py": LOGIN.encode()}
    world.second = world.built.commit(files, world.base, at=world.noon)
    for number in range(30):
        _calls(world, f"usual{number}", "Read", "Edit", "Bash", at=-20 * DAY + number * 1000)
    _calls(world, "odd", "Delete", "Wipe", "Edit", at=-90)
    world.edit(at=-70, id="e2", session="odd", call="odd-2", path="src/auth/login.py", before="", after=LOGIN)


def _commit(world: Judged, files: dict[bytes, bytes]) -> None:
    world.second = world.built.commit({b"a.py": NEW.encode(), **files}, world.first, at=world.noon)


def _calls(world: Judged, session: str, *names: str, at: int) -> None:
    for place, name in enumerate(names):
        call = f"{session}-{place}"
        payload = {"tool_name": name, "tool_use_id": call, "tool_input": {}, "tool_response": {}}
        world.hook("PostToolUse", at + 10 * place, payload, id=call, call=call, session=session)


def call(number: int, place: int, name: str) -> Callable[[Judged], bytes]:
    session = f"forged{number}"
    return lambda world: world.event(
        "call", -10 * DAY + number * 1000 + 10 * place, id=f"{session}-{place}", session=session, name=name
    )


def span(number: int, place: int, name: str) -> Callable[[Judged], bytes]:
    at = -10 * DAY + number * 1000 + 10 * place
    told = {"execution": f"forged{number}", "span": f"s{place}", "phase": "start", "parent": None, "session": None}
    return lambda world: world.event("span", at, id=f"{number}-{place}", name=name, **told)


UNUSUAL = ("Delete", "Wipe", "Edit")
DEEDS: Mapping[str, Case] = {
    "imported-reading": Case(
        reported, events(lambda world: world.event("source_read", -80, id="r2", locator=PAGE)), "CITE-UNREAD"
    ),
    "imported-prompt-with-the-page": Case(
        reported, events(lambda world: world.event("prompt", -85, id="p2", text=f"read {PAGE}")), "CITE-UNREAD"
    ),
    "chain-with-the-reading": Case(
        reported, chain_of(lambda other: other.tell("source_read", -80, id="r2", locator=PAGE)), "CITE-UNREAD"
    ),
    "reading-after-the-report": Case(reported, told("source_read", 60, id="r2", locator=PAGE), "CITE-UNREAD"),
    "imported-calls": Case(
        called, events(*(call(n, place, name) for n in range(40) for place, name in enumerate(UNUSUAL))), "GRAPH-"
    ),
    "imported-spans": Case(
        called, events(*(span(n, place, name) for n in range(40) for place, name in enumerate(UNUSUAL))), "GRAPH-"
    ),
}

CASES = {**DEEDS, **TRACES, **EVENTS, **TOLD, **CHAINS, **TRANSCRIPTS, **DATABASE, **RULES}


def test_there_are_enough_of_them() -> None:
    assert len(CASES) + len(HOOKS) >= 50


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Do, int], GateReport]:
    """Return the verdict without an attack; each situation is judged once."""

    @cache
    def judged(begin: Do, noon: int) -> GateReport:
        world = Judged(tmp_path_factory.mktemp("honest") / "repository", noon)
        begin(world)
        return world.said()

    return judged


Honest = Callable[[Do, int], GateReport]


@pytest.mark.parametrize("name", CASES)
def test_what_is_forged_lifts_no_verdict_and_is_named(name: str, tmp_path: Path, honest: Honest) -> None:
    holds(CASES[name], Judged(tmp_path / "repository"), honest)


@pytest.mark.parametrize("name", HOOKS)
def test_what_the_hook_is_reported_by_others_lifts_no_verdict_and_is_named(
    name: str, tmp_path: Path, honest: Honest
) -> None:
    holds(HOOKS[name], Judged(tmp_path / "repository", int(time.time()) + 60), honest)


def holds(case: Case, world: Judged, honest: Honest) -> None:
    before = honest(case.begin, world.noon)
    case.begin(world)
    case.forge(world)
    after = world.said()
    assert LEVELS.index(after.level) >= LEVELS.index(before.level), (codes(before), codes(after))
    assert shown(after) <= shown(before)
    assert after.added.person <= before.added.person or "ATTR-WEAK" in codes(after)
    assert case.named in world.named(after), (codes(after), world.named(after))
