"""Claims about what was recorded: links, models, operators, calls and times that others bring make no verdict milder.

A claim keeps its grade wherever it stands; here it is seen that it lends nothing to what is more than a claim either.
"""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from custody.attribution.app.blame import blame
from custody.core.wire.time import format_timestamp
from custody.intake.import_entire import import_entire_checkpoints
from custody.intake.import_git_ai import import_git_ai_notes
from tests.builders.cli import spool_of
from tests.builders.hooks import an_edit, installed, run_hook
from tests.builders.judged import DAY, NEW, NS, OLD, Judged, codes
from tests.builders.traces import TRACE, a_conversation, a_link, a_range, a_trace
from tests.unit.gate.app.test_forged_evidence import (
    Case,
    Do,
    Honest,
    called,
    chain_of,
    edit,
    events,
    holds,
    honest,
    traces,
    unhooked,
    unknown,
)

__all__ = ["honest"]

CHECKPOINT = "a3b2c4d5e6f7"
NOTES = 25
"""More records than the search for a session's model reads."""


def _moment(world: Judged, at: int) -> str:
    return format_timestamp((world.noon + at) * NS)


def _ruled(world: Judged, rules: bytes) -> None:
    """Set these rules on the base; the change does not touch them."""
    world.base = world.built.commit({b"a.py": OLD.encode(), b"custody.toml": rules}, world.first, at=world.noon - 7100)
    world.second = world.built.commit(
        {b"a.py": NEW.encode(), b"custody.toml": rules}, world.base, at=world.noon, ref="refs/heads/main"
    )


# --- links ------------------------------------------------------------------------------------------------------------


def late(world: Judged) -> None:
    """Record an edit of a good agent days before the commit, on another base: a weak match."""
    world.decide(12)
    world.edit(at=-3 * DAY, head="f" * 40)


def checkpointed(world: Judged) -> None:
    """Also name a checkpoint of Entire in the commit."""
    message = f"a\n\nEntire-Checkpoint: {CHECKPOINT}".encode()
    world.second = world.built.commit({b"a.py": NEW.encode()}, world.first, message=message, at=world.noon)
    late(world)


def checkpoint(world: Judged) -> None:
    """Push a branch that claims that the session made the commit."""
    said = {"session_id": "s1", "created_at": _moment(world, -60), "agent": "Claude Code"}
    path = f"{CHECKPOINT[:2]}/{CHECKPOINT[2:]}/0/metadata.json".encode()
    world.built.commit({path: json.dumps(said).encode()}, ref="refs/heads/entire/checkpoints/v1")
    assert import_entire_checkpoints(world.workspace).links == 1


def _git_event(world: Judged, **fields: str) -> bytes:
    said = {"custody": 1, "kind": "hook", "agent": "git", "event": "post-commit", "id": "g", "unparsed": ""}
    return json.dumps({**said, "at": _moment(world, 1), "head": world.second, **fields}).encode()


def committed(world: Judged) -> None:
    """Record the commit by git's own hook, days after the session's last event."""
    late(world)
    spool_of(world.built.path).put(_git_event(world))


def committed_elsewhere(world: Judged) -> None:
    """Keep the session at work, in another work tree than the one of the commit hook."""
    late(world)
    world.hook("SessionStart", -3 * DAY, {"source": "startup"}, id="se", root="/here")
    world.hook("UserPromptSubmit", -60, {"prompt": "go on"}, id="p", root="/here")
    spool_of(world.built.path).put(_git_event(world, worktree="/elsewhere"))


def seen_by_git_elsewhere(other: Judged) -> None:
    """Import another store's record of the commit, and of the session just before it."""
    other.hook("UserPromptSubmit", -60, {"prompt": "go on"}, id="p")
    spool_of(other.built.path).put(_git_event(other))


LINKS: Mapping[str, Case] = {
    "imported-link": Case(late, events(lambda w: w.event("link", -20, id="l", commit=w.second)), "ATTR-WEAK"),
    "trace-link": Case(late, traces(lambda w: a_link(w.second, "s1", created_at=_moment(w, 5))), "ATTR-WEAK"),
    "checkpoint-link": Case(checkpointed, checkpoint, "ATTR-WEAK"),
    "chain-with-a-link": Case(
        late, chain_of(lambda other: other.tell("link", -20, id="l", commit=other.second)), "ATTR-WEAK"
    ),
    "chain-with-gits-hook": Case(late, chain_of(seen_by_git_elsewhere), "ATTR-WEAK"),
    "imported-activity": Case(committed, events(lambda w: w.event("prompt", -60, id="p")), "ATTR-WEAK"),
    "imported-work-tree": Case(
        committed_elsewhere,
        events(lambda w: w.event("session", -3 * DAY, id="sx", model=None, worktree="/elsewhere")),
        "ATTR-WEAK",
    ),
}


# --- the edit itself --------------------------------------------------------------------------------------------------


def baseless(world: Judged) -> None:
    """Record an agent that wrote the lines days before, on an unknown commit."""
    world.decide(12)
    world.edit(at=-3 * DAY, head=None)


def too_late(world: Judged) -> None:
    """Record an agent that wrote the lines after their commit: they were there before it."""
    world.decide(12)
    world.edit(at=3 * 3600)


EDITS: Mapping[str, Case] = {
    "imported-edit-with-the-base": Case(baseless, events(edit(at=-3 * DAY, id="e1")), "ATTR-WEAK"),
    "imported-edit-with-the-base-and-a-time": Case(baseless, events(edit(id="e1")), "ATTR-WEAK"),
    "imported-edit-before-the-commit": Case(too_late, events(edit(id="e1")), "ATTR-NONE"),
}


# --- models and operators ---------------------------------------------------------------------------------------------


def new_model(world: Judged) -> None:
    """Record decisions about another model only than the session's."""
    world.decide(12, model="m-old")
    world.hook("SessionStart", -600, {"model": "m-new"}, id="se")
    world.edit()


def new_model_of_the_call(world: Judged) -> None:
    """Do the same for an edit by a named call."""
    world.decide(12, model="m-old")
    world.hook("SessionStart", -600, {"model": "m-new"}, id="se")
    world.edit(call="c1")


def unsaid_model(world: Judged) -> None:
    """Name a model in the decisions, but in no record of the session."""
    world.decide(12, model="m-old")
    world.edit(call="c1")


def any_model(world: Judged) -> None:
    """Name a model in the session, but not in the decisions."""
    world.decide(12)
    world.hook("SessionStart", -600, {"model": "m-new"}, id="se")
    world.edit()


def spent_by_its_operator(world: Judged) -> None:
    """Use up the operator's budget with another agent."""
    world.decide(12)
    world.tell("session", -600, id="se", model=None, operator="ana")
    world.edit()
    landed = {"unreviewed": True, "changed_lines": 499, "head": "c" * 40, "areas": ["elsewhere"], "actor": "ci"}
    world.tell("decision", -60, id="u", agent="other", operator="ana", **landed)


def session(at: int = -500, **fields: Any) -> Do:
    return events(lambda world: world.event("session", at, **({"id": "sx", "model": None} | fields)))


def _trace_of_the_session(world: Judged) -> dict[str, Any]:
    conversation = a_conversation(a_range(1, 2), contributor={"type": "ai", "model_id": "m-old"})
    return a_trace("other.py", conversation, id="s1", timestamp=_moment(world, -300))


def notes(world: Judged) -> None:
    """Add many notes of git-ai that name the session, on forged commits."""
    said = {"schema_version": "authorship/3.0.0", "base_commit_sha": "", "prompts": {}}
    sessions = {"s_1": {"agent_id": {"tool": "claude-code", "id": "s1", "model": "unknown"}}}
    note = "z.txt\n  s_1::t_1 1\n---\n" + json.dumps({**said, "sessions": sessions})
    for number in range(NOTES):
        text, at = b"line %d\n" % number, world.noon - 400 + number
        commit = world.built.commit({b"z.txt": text}, at=at, ref=f"refs/heads/pad{number}")
        world.built.git("notes", "--ref", "refs/notes/ai", "add", "-f", "-F", "-", commit, feed=note.encode())
    assert import_git_ai_notes(world.workspace).new == NOTES


MODELS: Mapping[str, Case] = {
    "imported-session-of-an-older-model": Case(new_model, session(model="m-old"), "TRUST-SAMPLES"),
    "trace-of-an-older-model": Case(new_model, traces(_trace_of_the_session), "TRUST-SAMPLES"),
    "chain-of-an-older-model": Case(
        new_model, chain_of(lambda other: other.tell("session", -500, id="sx", model="m-old")), "TRUST-SAMPLES"
    ),
    "notes-in-front-of-the-model": Case(any_model, notes, "TRUST-SAMPLES"),
    "imported-call-of-an-older-model": Case(
        new_model_of_the_call,
        events(lambda w: w.event("call", -35, id="c1", model="m-old", status="failed")),
        "TRUST-SAMPLES",
    ),
    "imported-session-with-the-model": Case(unsaid_model, session(model="m-old"), "TRUST-SAMPLES"),
    "imported-call-with-the-model": Case(
        unsaid_model, events(lambda w: w.event("call", -35, id="c1", model="m-old")), "TRUST-SAMPLES"
    ),
    "imported-operator": Case(spent_by_its_operator, session(operator="someone-else"), "TRUST-BUDGET"),
}


# --- calls ------------------------------------------------------------------------------------------------------------

USUAL = ("Read", "Edit", "Bash") * 2


def padding(place: int, name: str) -> Callable[[Judged], bytes]:
    """Record a usual call in the same session, just before its edit."""
    return lambda world: world.event("call", -75, id=f"pad-{place}", session="odd", name=name)


def padded_execution(place: int, name: str, span: str) -> Callable[[Judged], bytes]:
    """Record an execution with the session's name that ends with the same call."""
    told = {"execution": "odd", "span": span, "phase": "start", "parent": None, "session": None}
    return lambda world: world.event("span", -75 + place, id=f"pad-{place}", name=name, **told)


CALLS: Mapping[str, Case] = {
    "imported-calls-in-the-session": Case(
        called, events(*(padding(n, name) for n, name in enumerate(USUAL))), "GRAPH-UNUSUAL"
    ),
    "imported-execution-of-the-sessions-name": Case(
        called,
        events(
            *(padded_execution(n, name, f"pad-{n}") for n, name in enumerate(USUAL)),
            padded_execution(len(USUAL), "Edit", "call:odd-2"),
        ),
        "GRAPH-UNUSUAL",
    ),
}


# --- levels -----------------------------------------------------------------------------------------------------------


def blocked(world: Judged) -> None:
    """Leave the lines without evidence, under rules that block unknown authors but not weak evidence."""
    _ruled(world, b'[gate.levels]\nATTR-NONE = "block"\nATTR-UNSEEN = "block"\nATTR-WEAK = "review"\n')
    unknown(world)


def hooked_elsewhere(other: Judged) -> None:
    """Let a hook elsewhere record that it wrote the lines."""
    assert run_hook(installed(other.built.path), an_edit(other.built.path, "a.py", OLD, OLD, NEW)).status == 0


def _traced(world: Judged) -> dict[str, Any]:
    revision = {"type": "git", "revision": world.base}
    return a_trace("a.py", a_conversation(a_range(3, 4)), timestamp=_moment(world, -30), vcs=revision)


STRICT: Mapping[str, Case] = {
    "trace-where-nothing-blocks": Case(
        blocked, traces(_traced, lambda w: a_link(w.second, TRACE, created_at=_moment(w, 5))), "ATTR-WEAK"
    ),
    "imported-edit-where-nothing-blocks": Case(blocked, events(edit()), "ATTR-WEAK"),
}

CASES = {**LINKS, **EDITS, **MODELS, **CALLS, **STRICT}


@pytest.mark.parametrize("name", CASES)
def test_a_claim_about_what_was_recorded_lifts_no_verdict(name: str, tmp_path: Path, honest: Honest) -> None:
    holds(CASES[name], Judged(tmp_path / "repository"), honest)


def test_by_the_document_a_chain_from_a_file_is_no_more_than_a_claim(tmp_path: Path) -> None:
    world = Judged(tmp_path / "repository", int(time.time()) + 60)
    unhooked(world)
    chain_of(hooked_elsewhere)(world)
    told = blame(world.workspace, "a.py", revision=world.second, profile="document").report.attributions
    assert {one.grade for one in told if one.kind == "agent"} == {"claimed"}


def test_what_is_recorded_links_what_is_recorded(tmp_path: Path) -> None:
    world = Judged(tmp_path / "repository")
    late(world)
    assert codes(world.said()) == ["ATTR-WEAK"]
    world.tell("link", -20, id="l", commit=world.second)
    assert codes(world.said()) == ["ATTR-WEAK"], "any program can write a generic link"
    world.hook("PostToolUse", -20, committing(world), id="c2", call="c2")
    assert codes(world.said()) == []


def committing(world: Judged) -> dict[str, Any]:
    """Return the payload of the agent's own call that made the commit."""
    response = {"stdout": "", "gitOperation": {"commit": {"sha": world.second, "kind": "committed"}}}
    called = {"tool_name": "Bash", "tool_use_id": "c2", "tool_input": {"command": "git commit -m a"}}
    return {**called, "tool_response": response}
