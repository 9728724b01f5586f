"""Team policies, statements and bundles that cannot be used: an error with a hint or a stricter verdict."""

import json

from tests.attacks.ground import AGENTS_OWN, APP, DEVICE, GOOD
from tests.attacks.model import Attacker, WayIn
from tests.attacks.registry import AttackBook
from tests.attacks.target import Target, install_nothing
from tests.builders.cli import Ran
from tests.builders.repo import Built, a_clone, a_repository

BOOK = AttackBook()

A1, A2 = Attacker.AGENT, Attacker.COLLEAGUE
REFUSED, BAD_INPUT = 1, 2
TEAM = '[trust]\naudit_share = 0.0\n[gate]\nassurance_min = "witnessed"\n'


def _judge_under(target: Target, policy: str) -> None:
    """Make the gate judge the trusted agent's lines on a base with this policy."""
    files = {**target.files, b"custody.toml": policy.encode()}
    base = target.commit(files, ref="refs/heads/policy")
    text = target.home.git("cat-file", "blob", f"{target.ground.heads['trusted']}:{APP}")
    target.change = f"{base}..{target.commit({**files, APP.encode(): text}, base)}"


def _a_store(target: Target, name: str = "owner", key: str | None = None, more: str = "") -> str:
    key = key or target.ground.store_key
    return f'{name} = {{ id = "{target.ground.store}", key = "{key}", role = "witness"{more} }}\n'


def _check_not_approved(target: Target) -> None:
    assert target.verdict is not None
    assert target.verdict.level != "approve", "the gate approved under a policy that vouches for nothing"
    assert not target.verdict.is_granted, "'trust approve' grants the change under a policy that vouches for nothing"


def _check_error_with_hint(target: Target) -> None:
    _check_not_approved(target)
    ran = target.run("gate", target.change, at=target.court)
    assert ran.status == BAD_INPUT, f"the gate ended with {ran.status}, not 2"
    assert "custody.toml" in ran.err and "hint: " in ran.err, f"the error does not say what to do: {ran.err}"


@BOOK.attack(
    A1,
    WayIn.FILES,
    does="relies on a store and a reviewer that expired",
    check=_check_not_approved,
    writes_records=False,
)
def expired_keys(target: Target) -> None:
    expired = ", expires = 2020-01-01"
    reviewer = f'ana = {{ key = "{DEVICE.public}", accounts = ["ana@example.com"]{expired} }}\n'
    _judge_under(target, f"{TEAM}[stores]\n{_a_store(target, more=expired)}[reviewers]\n{reviewer}")


@BOOK.attack(
    A1,
    WayIn.FILES,
    does="relies on keys that the policy does not list",
    check=_check_not_approved,
    writes_records=False,
)
def unknown_keys(target: Target) -> None:
    key = AGENTS_OWN.public
    reviewer = f'ana = {{ key = "{key}", accounts = ["ana@example.com"] }}\n'
    _judge_under(target, f"{TEAM}[stores]\n{_a_store(target, key=key)}[reviewers]\n{reviewer}")


@BOOK.attack(
    A1,
    WayIn.FILES,
    does="relies on a policy without stores and reviewers",
    check=_check_not_approved,
    writes_records=False,
)
def policy_without_members(target: Target) -> None:
    _judge_under(target, TEAM)


@BOOK.attack(
    A1,
    WayIn.FILES,
    does="relies on a policy with two stores of one name",
    check=_check_error_with_hint,
    writes_records=False,
)
def two_stores_with_one_name(target: Target) -> None:
    _judge_under(target, f"{TEAM}[stores]\n{_a_store(target)}{_a_store(target, key=AGENTS_OWN.public)}")


@BOOK.attack(
    A1,
    WayIn.FILES,
    does="relies on a policy that lists one store with two keys",
    check=_check_error_with_hint,
    writes_records=False,
)
def one_store_with_two_keys(target: Target) -> None:
    other = _a_store(target, "other", AGENTS_OWN.public)
    _judge_under(target, f"{TEAM}[stores]\n{_a_store(target)}{other}")


# A bundle that lost its end.


def _check_bundle_refused(target: Target) -> None:
    answers: list[Ran] = target.notes["answers"]
    for ran in answers:
        assert ran.status == BAD_INPUT, f"verify --bundle ended with {ran.status}, not 2: {ran.err or ran.out}"
        assert "hint: " in ran.err, f"the error does not say what to do: {ran.err}"


@BOOK.attack(
    A1,
    WayIn.FILES,
    does="cuts a bundle off before a rejection",
    check=_check_bundle_refused,
    writes_records=False,
)
def cut_bundle(target: Target) -> None:
    verdict, bundle = target.folder / "verdict.json", target.folder / "bundle"
    target.run("gate", target.change, "--json", "--out", str(verdict))
    made = target.run("export", "--verdict", str(verdict), "-o", str(bundle))
    assert made.status == 0, made.err
    data, answers = bundle.read_bytes(), []
    lines = data.splitlines(keepends=True)
    for cut in (data[: len(data) // 2], b"".join(lines[: len(lines) // 2]), b"".join(lines[:-1]), b""):
        bundle.write_bytes(cut)
        answers.append(target.run("verify", "--verdict", str(verdict), "--bundle", str(bundle)))
    target.notes["answers"] = answers


# A countersignature for another repository.


def _share_twice(target: Target) -> None:
    """Share the trusted agent's chain in this repository, and countersign it in another one."""
    target.judge_branch("trusted")
    target.share()
    clone = target.clone("ci")
    target.pull(clone)
    target.court = clone.path


@BOOK.attack(A2, WayIn.REMOTE, does="puts countersignatures for another repository on the remote", prepare=_share_twice)
def foreign_countersignature(target: Target) -> None:
    other = a_repository(target.folder / "other.git", bare=True)
    alien = a_repository(target.folder / "alien")
    alien.commit({b"a": b"a\n"}, at=target.ground.now - 1000)
    alien.checkout()
    alien.git("remote", "add", "origin", f"file://{other.path}")
    alien.git("push", "--quiet", "origin", "--all")
    install_nothing(alien)
    target.run(
        "record",
        "--agent",
        GOOD,
        stdin=json.dumps({"custody": 1, "kind": "prompt", "id": "p", "text": "x", "agent": GOOD}),
        at=alien.path,
    )
    target.push(alien)
    witness = a_clone(other, target.folder / "witness")
    install_nothing(witness)
    target.pull(witness)
    remote = target.share()
    remote.git("fetch", "--quiet", str(other.path), "+refs/custody/*:refs/custody/*")
    target.notes["pulled"] = target.pull(Built(target.court))
