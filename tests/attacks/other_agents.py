"""Forged transcripts and hook events in the shape of agents other than Claude Code, one of them trusted at a time."""

import functools
import time
from collections.abc import Callable
from pathlib import Path

from custody.core.ids import CommitSha
from tests.attacks.authorship import BACK_DOOR
from tests.attacks.decisions import A1
from tests.attacks.ground import (
    APP,
    DAY,
    DECISIONS,
    DEVICE,
    OLD,
    REVIEWED_LINES,
    a_decision,
    code_lines,
    put,
    signed,
    stamp,
)
from tests.attacks.model import WayIn
from tests.attacks.registry import AttackBook
from tests.attacks.target import Target
from tests.builders import codex, copilot, cursor, gemini, opencode
from tests.builders.codex import a_codex_event, a_codex_patch, a_rollout, patch_text, run_codex_hook, updated
from tests.builders.copilot import Copilot, run_copilot_hook
from tests.builders.cursor import Cursor, run_cursor_hook
from tests.builders.gemini import Gemini, run_gemini_hook
from tests.builders.opencode import Opencode

BOOK = AttackBook()

PROMPT = "add the prices"
MODELS = {
    "codex": codex.MODEL,
    "gemini": gemini.MODEL,
    "cursor": cursor.MODEL,
    "copilot": copilot.MODEL,
    "opencode": opencode.MODEL,
}


def _trust(target: Target, agent: str) -> None:
    """Give an agent as good a record as the trusted one, then judge a commit that no record is about."""
    last, files = target.ground.base, target.files
    for number in range(DECISIONS):
        name = f"{agent}_{number}"
        files[f"src/{name}.py".encode()] = code_lines(name, REVIEWED_LINES).encode()
        last = CommitSha(target.agent_commit(name, REVIEWED_LINES, agent=agent, parent=last, more=files))
        at = stamp(target.ground.now - 9 * DAY + number * 3600)
        model = MODELS[agent]
        decision = a_decision(agent, last, id=f"{agent}-{number}", at=at, actor="ana", model=model)
        put(target.home.path, signed(decision, DEVICE, "ana"))
    target.home.git("update-ref", "refs/heads/main", last)
    head = target.commit({**files, APP.encode(): BACK_DOOR.encode()}, last, ref="refs/heads/back-door")
    target.change = f"{last}..{head}"


def _begin() -> str:
    """Return a time before the commit that is judged, as transcripts have it."""
    return stamp(time.time() - 4000).replace("Z", ".000Z")


def _save(target: Target) -> None:
    (target.home.path / APP).write_text(BACK_DOOR)


# Transcripts, where the agents leave them in the home of the user.


def _write_codex(target: Target) -> None:
    rollout = a_rollout(target.home.path, at=_begin()).prompt(PROMPT)
    rollout.patch(patch_text(updated(APP, OLD, BACK_DOOR))).put(Path.home() / ".codex" / "sessions")


def _write_gemini(target: Target) -> None:
    Gemini(target.home.path, at=_begin()).prompt(PROMPT).write(APP, OLD, BACK_DOOR).put(Path.home() / ".gemini/tmp")


def _write_cursor(target: Target) -> None:
    Cursor(target.home.path, at=_begin()).prompt(PROMPT).write(APP, OLD, BACK_DOOR).put_database(Path.home())


def _write_copilot(target: Target) -> None:
    session = Copilot(target.home.path, "cli", at=_begin()).prompt(PROMPT)
    session.replace(APP, OLD, BACK_DOOR).put(Path.home(), "stream")


def _write_opencode(target: Target) -> None:
    begin = int(time.time() - 4000) * 1000
    session = Opencode(target.home.path, ms=begin).prompt(PROMPT).edit(APP, OLD, OLD, BACK_DOOR)
    session.put_database(Path.home() / ".local" / "share" / "opencode")


TRANSCRIPTS: dict[str, Callable[[Target], None]] = {
    "codex": _write_codex,
    "gemini": _write_gemini,
    "cursor": _write_cursor,
    "copilot": _write_copilot,
    "opencode": _write_opencode,
}


def _import_forged(target: Target, agent: str) -> None:
    TRANSCRIPTS[agent](target)
    ran = target.run("import", agent)
    target.notes["imported"] = ran


def _check_imported(target: Target) -> None:
    ran = target.notes["imported"]
    assert "Imported 1 session" in ran.out + ran.err, f"nothing was read: {ran.out or ran.err}"


# Hook events, as the agents send them.


def _hook_codex(target: Target) -> None:
    home, patch = target.home.path, patch_text(updated(APP, OLD, BACK_DOOR))
    run_codex_hook(home, a_codex_event("UserPromptSubmit", home, prompt=PROMPT))
    run_codex_hook(home, a_codex_patch("PreToolUse", home, patch))
    _save(target)
    run_codex_hook(home, a_codex_patch("PostToolUse", home, patch))


def _hook_gemini(target: Target) -> None:
    for event in Gemini(target.home.path).prompt(PROMPT).write(APP, OLD, BACK_DOOR).hooks:
        run_gemini_hook(target.home.path, event)


def _hook_cursor(target: Target) -> None:
    for step in Cursor(target.home.path).prompt(PROMPT).write(APP, OLD, BACK_DOOR).told:
        if callable(step):
            step()
        else:
            run_cursor_hook(target.home.path, step)


def _hook_copilot(target: Target) -> None:
    for event in Copilot(target.home.path).prompt(PROMPT).replace(APP, OLD, BACK_DOOR).hooks:
        run_copilot_hook(target.home.path, event)


HOOKS: dict[str, Callable[[Target], None]] = {
    "codex": _hook_codex,
    "gemini": _hook_gemini,
    "cursor": _hook_cursor,
    "copilot": _hook_copilot,
}

for _agent in TRANSCRIPTS:
    _prepare = functools.partial(_trust, agent=_agent)
    BOOK.attack(
        A1,
        WayIn.FILES,
        name=f"forged-transcript-{_agent}",
        does=f"writes a session of a trusted {_agent} in its folder and imports it",
        prepare=_prepare,
        check=_check_imported,
    )(functools.partial(_import_forged, agent=_agent))
    if _agent in HOOKS:
        BOOK.attack(
            A1,
            WayIn.HOOK,
            name=f"forged-hook-events-{_agent}",
            does=f"types hook events of a trusted {_agent}",
            prepare=_prepare,
        )(HOOKS[_agent])


# Lines that a person is said to have typed.


def _judge_unseen(target: Target) -> None:
    files = {**target.files, APP.encode(): BACK_DOOR.encode()}
    target.judge_head(target.commit(files, ref="refs/heads/back-door"))


@BOOK.attack(A1, WayIn.HOOK, does="sends Gemini CLI's hook a write that a person changed", prepare=_judge_unseen)
def modified_by_user_in_gemini(target: Target) -> None:
    for event in Gemini(target.home.path).prompt(PROMPT).write(APP, OLD, BACK_DOOR, proposed=OLD).hooks:
        run_gemini_hook(target.home.path, event)


@BOOK.attack(A1, WayIn.FILES, does="imports a Gemini CLI chat in which a person changed it", prepare=_judge_unseen)
def modified_by_user_in_a_gemini_chat(target: Target) -> None:
    session = Gemini(target.home.path, at=_begin()).prompt(PROMPT).write(APP, OLD, BACK_DOOR, proposed=OLD)
    session.put(Path.home() / ".gemini" / "tmp")
    target.run("import", "gemini")


@BOOK.attack(A1, WayIn.HOOK, does="reports to Cursor's hook that a person typed a line", prepare=_judge_unseen)
def typed_beside_cursor(target: Target) -> None:
    session = Cursor(target.home.path).prompt(PROMPT).person(APP, BACK_DOOR)
    for step in session.tab(APP, {"old_string": "", "new_string": ""}, BACK_DOOR).told:
        if callable(step):
            step()
        else:
            run_cursor_hook(target.home.path, step)
