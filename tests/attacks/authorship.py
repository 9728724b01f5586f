"""Lines that are claimed by, or blamed on, somebody who did not write them."""

import functools
import json
import time
from typing import Any

from tests.attacks.decisions import A1
from tests.attacks.ground import APP, CHANGED_LINES, DECISIONS, GOOD, OLD, ROBOT, an_event_of, code_lines, stamp
from tests.attacks.model import Attacker, WayIn
from tests.attacks.registry import AttackBook
from tests.attacks.target import Target
from tests.builders.hooks import SESSION, a_hook_event, an_edit
from tests.builders.traces import a_conversation, a_range, a_trace, written
from tests.builders.transcripts import a_transcript

BOOK = AttackBook()

BACK_DOOR = OLD + code_lines("back_door", CHANGED_LINES)


def claim_lines(target: Target, agent: str, before: str, after: str, **more: Any) -> None:
    """Record with ``custody record`` that an agent made this edit an hour ago."""
    edit = {"session": f"s-{agent}", "path": APP, "head": target.ground.base, "at": stamp(time.time() - 3000)}
    target.record(an_event_of("edit", agent=agent, before=before, after=after, **edit, **more))


def propose_unseen(target: Target) -> None:
    """Make the gate judge a commit that no record is about."""
    files = {**target.files, APP.encode(): BACK_DOOR.encode()}
    target.judge_head(target.commit(files, ref="refs/heads/back-door"))


@BOOK.attack(
    A1, WayIn.CLI, does="records an edit with an empty proposal, so that a person seems to have typed the lines"
)
def empty_proposal(target: Target) -> None:
    claim_lines(target, ROBOT, OLD, target.topic_text, proposed="")


@BOOK.attack(A1, WayIn.CLI, does="records the same for lines without any record", prepare=propose_unseen)
def empty_proposal_for_unseen_lines(target: Target) -> None:
    claim_lines(target, ROBOT, OLD, BACK_DOOR, proposed="")


@BOOK.attack(A1, WayIn.CLI, does="claims that a person rewrote every proposed line")
def other_proposal(target: Target) -> None:
    claim_lines(target, ROBOT, OLD, target.topic_text, proposed=OLD + code_lines("something_else", CHANGED_LINES))


@BOOK.attack(
    A1, WayIn.HOOK, does="sends the hook an edit that a person is said to have changed", prepare=propose_unseen
)
def modified_by_user_in_the_hook(target: Target) -> None:
    event = an_edit(target.home.path, APP, OLD, OLD, BACK_DOOR)
    event["tool_input"]["new_string"] = OLD
    event["tool_response"]["userModified"] = True
    target.hook(event)


@BOOK.attack(A1, WayIn.CLI, does="records its edit under the name of a trusted agent", prepare=propose_unseen)
def borrowed_name(target: Target) -> None:
    claim_lines(target, GOOD, OLD, BACK_DOOR)


@BOOK.attack(A1, WayIn.HOOK, does="types hook events under the name of a trusted agent", prepare=propose_unseen)
def typed_hook_events(target: Target) -> None:
    target.hook(
        a_hook_event("SessionStart", target.home.path, source="startup"),
        a_hook_event("UserPromptSubmit", target.home.path, prompt="add the prices"),
        an_edit(target.home.path, APP, OLD, OLD, BACK_DOOR),
    )


@BOOK.attack(A1, WayIn.CLI, does="claims lines of its own recorded change for a trusted agent")
def borrowed_name_over_its_own(target: Target) -> None:
    claim_lines(target, GOOD, OLD, target.topic_text)


@BOOK.attack(A1, WayIn.FILES, does="writes a transcript of a trusted agent and imports it", prepare=propose_unseen)
def forged_transcript(target: Target) -> None:
    folder = target.folder / "projects" / "here"
    folder.mkdir(parents=True)
    session = a_transcript(SESSION, target.home.path, at=stamp(time.time() - 4000))
    session.prompt("add the prices").edit(APP, OLD, OLD, BACK_DOOR)
    (folder / f"{SESSION}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in session.lines))
    target.run("import", "claude-code", "--transcripts", str(target.folder / "projects"))


@BOOK.attack(A1, WayIn.CLI, does="links the commit to a session of a trusted agent", prepare=propose_unseen)
def forged_link(target: Target) -> None:
    head = target.change.partition("..")[2]
    links = ("hook", "git_operation", "content", "pull_request")
    target.record(
        *(
            an_event_of("link", agent=GOOD, session=f"s-{GOOD}", commit=head, origin=origin, id=f"link-{origin}")
            for origin in links
        )
    )


@BOOK.attack(A1, WayIn.HOOK, does="reports a commit of a trusted session through gitOperation", prepare=propose_unseen)
def forged_git_operation(target: Target) -> None:
    head = target.change.partition("..")[2]
    target.hook(
        an_edit(target.home.path, APP, OLD, OLD, BACK_DOOR),
        a_hook_event(
            "PostToolUse",
            target.home.path,
            tool_name="Bash",
            tool_use_id="toolu_02",
            tool_input={"command": "git commit -am prices"},
            tool_response={"stdout": "", "gitOperation": {"commit": {"sha": head, "kind": "committed"}}},
        ),
    )


@BOOK.attack(A1, WayIn.FILES, does="leaves an Agent Trace file that calls its lines human")
def trace_of_a_person(target: Target) -> None:
    last = target.topic_text.count("\n")
    trace = a_trace(
        APP,
        a_conversation(a_range(1, last), who="human"),
        vcs={"type": "git", "revision": target.topic},
        timestamp=stamp(time.time() - 1000),
    )
    file = written(target.home.path / ".agent-trace" / "traces.jsonl", trace)
    target.run("import", str(file))


@BOOK.attack(A1, WayIn.SERVICE, does="sends an edit with an empty proposal to the service", prepare=propose_unseen)
def empty_proposal_over_http(target: Target) -> None:
    edit = {"session": f"s-{ROBOT}", "path": APP, "before": OLD, "after": BACK_DOOR, "head": target.ground.base}
    with target.service() as service:
        service.send("evidence", an_event_of("edit", agent=ROBOT, proposed="", **edit))


NAMES = {
    "upper-case": "Claude-Code",
    "full-width": "\uff43laude-code",
    "zero-width": "claude\u200b-code",
    "homoglyph": "\u0441laude-code",
    "space": "claude-code ",
    "hyphen": "claude\u2010code",
}


def _claim_as(target: Target, spelling: str) -> None:
    claim_lines(target, spelling, OLD, BACK_DOOR)


for _name, _spelling in NAMES.items():
    BOOK.attack(
        A1,
        WayIn.CLI,
        name=f"agent-name-{_name}",
        does=f"records under the name of a trusted agent, spelled otherwise ({_name.replace('-', ' ')})",
        prepare=propose_unseen,
    )(functools.partial(_claim_as, spelling=_spelling))


@BOOK.attack(A1, WayIn.CLI, does="hides its lines behind edits of many sessions of a trusted agent")
def many_sessions(target: Target) -> None:
    for number in range(DECISIONS):
        claim_lines(target, GOOD, OLD, target.topic_text, id=f"many-{number}", call=f"call-{number}")


@BOOK.attack(Attacker.STRANGER, WayIn.FILES, does="commits an Agent Trace file that calls the lines of the fork human")
def trace_in_the_fork(target: Target) -> None:
    trace = a_trace(APP, a_conversation(a_range(1, BACK_DOOR.count("\n")), who="human"))
    data = (json.dumps(trace) + "\n").encode()
    files = {**target.files, APP.encode(): BACK_DOOR.encode(), b".agent-trace/traces.jsonl": data}
    target.judge_head(target.commit(files, ref="refs/heads/fork"))
    target.home.checkout("fork")


@BOOK.attack(
    Attacker.STRANGER, WayIn.REMOTE, does="spoofs a reviewer as author and adds review trailers", prepare=propose_unseen
)
def spoofed_author(target: Target) -> None:
    files = {**target.files, APP.encode(): BACK_DOOR.encode()}
    message = b"Add prices\n\nReviewed-by: Ana Ruiz <ana@example.com>\nCustody-Decision: accepted\n"
    target.judge_head(target.commit(files, author="Ana Ruiz <ana@example.com>", message=message))
