"""A colleague who may push, and the owner of the git remote."""

import json
from collections.abc import Callable
from typing import Any

from tests.attacks.authorship import BACK_DOOR
from tests.attacks.decisions import host_reviews
from tests.attacks.ground import APP, DECISIONS, DEVICE, GOOD, OLD, ROBOT, a_decision, an_event_of, put, signed, stamp
from tests.attacks.model import Attacker, WayIn
from tests.attacks.registry import AttackBook
from tests.attacks.target import Target, copy_repository
from tests.builders.cli import Ran
from tests.builders.repo import Built

BOOK = AttackBook()

A2, A3 = Attacker.COLLEAGUE, Attacker.REMOTE_OWNER
REFUSED = 1


def _push_branch(target: Target) -> None:
    """Share main and the owner's chain; a colleague pushes a branch that no record is about."""
    files = {**target.files, APP.encode(): BACK_DOOR.encode()}
    target.judge_head(target.commit(files, ref="refs/heads/back-door"))
    target.share()
    target.notes["colleague"] = target.clone("colleague")


def _share_from_colleague(target: Target, *events: dict[str, Any]) -> None:
    """Record events in the colleague's store, push its chain, and pull it at home."""
    colleague: Built = target.notes["colleague"]
    put(colleague.path, *events)
    target.push(colleague)
    target.notes["pulled"] = target.pull(target.home)


def _an_edit(agent: str, **more: Any) -> dict[str, Any]:
    facts = {"session": f"s-{agent}", "path": APP, "before": OLD, "after": BACK_DOOR}
    return an_event_of("edit", agent=agent, **facts, **more)


@BOOK.attack(A2, WayIn.REMOTE, does="pushes a chain in which a trusted agent wrote the lines", prepare=_push_branch)
def hand_fed_chain(target: Target) -> None:
    _share_from_colleague(target, _an_edit(GOOD, head=target.ground.base, at=stamp(target.ground.now - 3000)))


@BOOK.attack(A2, WayIn.REMOTE, does="pushes a chain in which a person typed the lines", prepare=_push_branch)
def hand_fed_person(target: Target) -> None:
    edit = _an_edit(ROBOT, head=target.ground.base, at=stamp(target.ground.now - 3000), proposed="")
    _share_from_colleague(target, edit)


@BOOK.attack(A2, WayIn.REMOTE, does="pushes a chain with reviews of an unknown agent's commits", prepare=_push_branch)
def hand_fed_decisions(target: Target) -> None:
    edit = _an_edit(ROBOT, head=target.ground.base, at=stamp(target.ground.now - 3000))
    reviews = [a_decision(ROBOT, sha, id=f"pushed-{n}", actor="ana") for n, sha in enumerate(target.ground.robots)]
    _share_from_colleague(target, edit, *reviews)


@BOOK.attack(A2, WayIn.REMOTE, does="pushes a chain with typed reviews of the code host", prepare=_push_branch)
def hand_fed_witness(target: Target) -> None:
    edit = _an_edit(ROBOT, head=target.ground.base, at=stamp(target.ground.now - 3000))
    _share_from_colleague(target, edit, *host_reviews(target))


@BOOK.attack(
    A2, WayIn.REMOTE, does="pushes signed reviews of others again in a chain of their own", prepare=_push_branch
)
def replayed_signatures_in_a_chain(target: Target) -> None:
    reviews = [
        signed(a_decision(GOOD, sha, id=f"good-{n}", actor="ana"), DEVICE, "ana")
        for n, sha in enumerate(target.ground.good)
    ]
    _share_from_colleague(target, *({**review, "agent": ROBOT} for review in reviews))


@BOOK.attack(A2, WayIn.REMOTE, does="pushes a chain under the name of the owner's store", prepare=_push_branch)
def chain_under_anothers_name(target: Target) -> None:
    colleague: Built = target.notes["colleague"]
    put(colleague.path, _an_edit(GOOD, head=target.ground.base))
    target.push(colleague)
    remote = target.share()
    own = f"refs/custody/{target.ground.store}"
    other = next(ref for ref in _list_chains(remote) if ref != own)
    remote.git("update-ref", own, other)
    target.pull(target.home)


def _list_chains(remote: Built) -> list[str]:
    refs = remote.git("for-each-ref", "--format=%(refname)", "refs/custody/").decode().split()
    return [ref for ref in refs if len(ref.rpartition("/")[2]) == 32]


def _edit_shared_files(target: Target, edit: Callable[[str, bytes], bytes]) -> None:
    """Replace files of the owner's shared chain on the remote."""
    remote, ref = target.share(), f"refs/custody/{target.ground.store}"
    names = remote.git("ls-tree", "-r", "--name-only", "-z", ref).decode().split("\0")[:-1]
    index = {"GIT_INDEX_FILE": str(target.folder / "index")}
    remote.git("read-tree", ref, environment=index)
    for name in names:
        old = remote.git("cat-file", "blob", f"{ref}:{name}")
        new = edit(name, old)
        if new != old:
            sha = remote.git("hash-object", "-w", "--stdin", feed=new).decode().strip()
            remote.git("update-index", "--cacheinfo", f"100644,{sha},{name}", environment=index)
    tree = remote.git("write-tree", environment=index).decode().strip()
    remote.git("update-ref", ref, remote.git("commit-tree", tree, "-m", "edited").decode().strip())


def _judge_in_fresh_clone(target: Target) -> None:
    """Share the owner's chain, and let a fresh clone that pulled it judge the unknown agent's change."""
    target.share()
    _open_court(target, "ci")


def _open_court(target: Target, name: str) -> Ran:
    clone = target.clone(name)
    ran = target.pull(clone)
    target.court = clone.path
    return ran


def _rename_agent(name: str, data: bytes) -> bytes:
    """Put the trusted agent in the place of the unknown one, in records and in outlines."""
    if name == "about.json":
        return data
    text = data.decode()
    for quote in ('"', '\\"'):
        for own, others in ((ROBOT, GOOD), (f"s-{ROBOT}", f"s-{GOOD}")):
            text = text.replace(f"{quote}{own}{quote}", f"{quote}{others}{quote}")
    return text.encode()


@BOOK.attack(
    A2, WayIn.REMOTE, does="replaces the agent's name in the outlines of a shared chain", prepare=_judge_in_fresh_clone
)
def forged_outlines(target: Target) -> None:
    _edit_shared_files(target, _rename_agent)
    _open_court(target, "later")


def _change_origins(name: str, data: bytes) -> bytes:
    """Make an edit of the trusted agent the origin of every line that the unknown one wrote."""
    if not name.startswith("origins/"):
        return data
    origins = json.loads(data)
    by_agent = {state["agent"]: state for state in origins["states"]}
    if not {ROBOT, GOOD} <= set(by_agent):
        return data
    good = by_agent[GOOD]
    text = json.dumps({**origins, "states": [_blame_on(good, state) for state in origins["states"]]})
    return text.replace(f":{by_agent[ROBOT]['seq']}:0", f":{good['seq']}:0").encode()


def _blame_on(good: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """Return a state of a file as if another session had made it."""
    names = ("agent", "session", "observed")
    return {**state, **{name: good[name] for name in names}} if state["agent"] == ROBOT else state


@BOOK.attack(A2, WayIn.REMOTE, does="changes the origins of lines of a shared chain", prepare=_judge_in_fresh_clone)
def forged_origin_maps(target: Target) -> None:
    _edit_shared_files(target, _change_origins)
    _open_court(target, "later")


@BOOK.attack(A2, WayIn.FILES, does="sends an export with a forged chain by mail", prepare=_push_branch)
def mailed_export(target: Target) -> None:
    colleague: Built = target.notes["colleague"]
    reviews = [a_decision(ROBOT, sha, id=f"mail-{n}", actor="ana") for n, sha in enumerate(target.ground.robots)]
    put(colleague.path, _an_edit(GOOD, head=target.ground.base), *reviews)
    file = target.folder / "mailed.jsonl"
    target.run("export", "-o", str(file), at=colleague.path)
    target.run("import", str(file))


# Roll-backs, forks and rewrites: noticed by whoever saw a later state.


def _reject_after_sharing(target: Target) -> None:
    """Share a good record, then eleven rejections; a clone saw both and judges the trusted change."""
    target.judge_branch("trusted")
    remote = target.share()
    ref = f"refs/custody/{target.ground.store}"
    target.notes["early"] = remote.git("rev-parse", ref).decode().strip()
    copy_repository(target.home.path, target.folder / "fork")
    put(
        target.home.path,
        *(
            signed(a_decision(GOOD, sha, id=f"no-{n}", actor="ana", decision="rejected"), DEVICE, "ana")
            for n, sha in enumerate(target.ground.good)
        ),
    )
    target.push()
    _open_court(target, "ci")
    target.push(Built(target.court))


def check_noticed(target: Target) -> None:
    ran: Ran = target.notes["pulled"]
    assert ran.status == REFUSED, f"the pull ended with {ran.status} and noticed nothing: {(ran.out + ran.err).strip()}"
    assert "STORE" in ran.out + ran.err, "the pull does not name the chain"


def _roll_back(target: Target) -> None:
    target.share().git("update-ref", f"refs/custody/{target.ground.store}", target.notes["early"])


@BOOK.attack(
    A3,
    WayIn.REMOTE,
    does="rolls a chain back; a clone that knew more pulls",
    prepare=_reject_after_sharing,
    check=check_noticed,
)
def rolled_back_chain(target: Target) -> None:
    _roll_back(target)
    target.notes["pulled"] = target.pull(Built(target.court))


@BOOK.attack(
    A3,
    WayIn.REMOTE,
    does="rolls a chain back; a fresh clone pulls that knows a countersignature",
    prepare=_reject_after_sharing,
    check=check_noticed,
)
def rolled_back_for_a_fresh_clone(target: Target) -> None:
    _roll_back(target)
    target.notes["pulled"] = _open_court(target, "fresh")


@BOOK.attack(
    A2,
    WayIn.REMOTE,
    does="force-pushes an older chain of somebody else",
    prepare=_reject_after_sharing,
    check=check_noticed,
)
def force_pushed_older_chain(target: Target) -> None:
    colleague = target.clone("colleague")
    ref = f"refs/custody/{target.ground.store}"
    colleague.git("fetch", "--quiet", "origin", target.notes["early"])
    colleague.git("push", "--quiet", "--force", "origin", f"{target.notes['early']}:{ref}")
    target.notes["pulled"] = _open_court(target, "fresh")


def _fork_chain(target: Target) -> None:
    """Continue an older copy of the owner's store, and put that chain in place of the real one."""
    fork = Built(target.folder / "fork")
    put(fork.path, *(a_decision(GOOD, None, id=f"yes-{n}", actor="ana") for n in range(DECISIONS + 5)))
    _roll_back(target)
    target.push(fork)


@BOOK.attack(
    A3,
    WayIn.REMOTE,
    does="shows a clone another continuation of a chain that it knows",
    prepare=_reject_after_sharing,
    check=check_noticed,
)
def forked_chain(target: Target) -> None:
    _fork_chain(target)
    target.notes["pulled"] = target.pull(Built(target.court))


@BOOK.attack(
    A3,
    WayIn.REMOTE,
    does="shows a fresh clone another continuation than all others saw",
    prepare=_reject_after_sharing,
    check=check_noticed,
)
def forked_chain_for_a_fresh_clone(target: Target) -> None:
    _fork_chain(target)
    target.notes["pulled"] = _open_court(target, "fresh")


@BOOK.attack(
    A3,
    WayIn.REMOTE,
    does="removes the newest records of a chain, and every countersignature",
    prepare=_reject_after_sharing,
)
def removed_countersignatures(target: Target) -> None:
    _roll_back(target)
    remote = target.share()
    for ref in remote.git("for-each-ref", "--format=%(refname)", "refs/custody/").decode().split():
        if "witness" in ref:
            remote.git("update-ref", "-d", ref)
    target.notes["pulled"] = _open_court(target, "fresh")


@BOOK.attack(A3, WayIn.REMOTE, does="removes the chain that holds the rejections", prepare=_reject_after_sharing)
def removed_chain(target: Target) -> None:
    target.share().git("update-ref", "-d", f"refs/custody/{target.ground.store}")
    target.pull(Built(target.court))
