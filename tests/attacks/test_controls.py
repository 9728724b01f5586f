"""The attacked repository without an attack: what is honest merges, so that there is something to gain."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from custody.signing import allowed_signers_from_key, find_signature_fault, find_signer
from tests.attacks.ground import GOOD, HOUR, LARGE, ROBOT, Ground, leave_edit
from tests.attacks.keys import PersonKey
from tests.attacks.model import Setting
from tests.attacks.target import Target

NAMESPACE = "custody-decision"


def test_without_a_policy_the_agent_with_a_good_record_merges(
    ground_of: Callable[[Setting], Ground], tmp_path: Path
) -> None:
    for branch in ("trusted", *LARGE):
        home = tmp_path / branch  # each in a copy of its own: together they exceed the budget
        home.mkdir()
        target = Target(ground_of(Setting.ALONE), home)
        target.judge_branch(branch)
        assert target.judge().level == "approve", branch


@pytest.mark.parametrize("setting", Setting)
def test_the_unknown_agent_needs_a_review(
    setting: Setting, ground_of: Callable[[Setting], Ground], tmp_path: Path
) -> None:
    judgment = Target(ground_of(setting), tmp_path).judge()
    assert (judgment.level, judgment.is_granted) == ("review", False), judgment


def test_signed_reviews_and_an_enrolled_store_let_a_change_merge(
    ground_of: Callable[[Setting], Ground], tmp_path: Path
) -> None:
    target = Target(ground_of(Setting.ENROLLED), tmp_path)
    target.judge_branch("trusted")
    judgment = target.judge()
    assert (judgment.level, judgment.assurance) == ("approve", "enrolled"), judgment


def test_under_the_team_policy_witnessed_changes_merge_here_and_in_a_fresh_clone(
    ground_of: Callable[[Setting], Ground], tmp_path: Path
) -> None:
    target = Target(ground_of(Setting.WITNESSED), tmp_path)
    target.judge_branch("trusted")
    here = target.judge()
    assert (here.level, here.assurance, here.is_granted) == ("approve", "witnessed", True), here
    clone = target.clone("ci")
    assert target.pull(clone).status == 0
    target.court = clone.path
    there = target.judge()
    assert (there.level, there.codes, there.assurance) == (here.level, here.codes, here.assurance), there


@pytest.mark.parametrize("is_whole_write", [False, True])
def test_under_the_team_policy_removals_by_the_same_agent_merge(
    is_whole_write: bool, ground_of: Callable[[Setting], Ground], tmp_path: Path
) -> None:
    target = Target(ground_of(Setting.WITNESSED), tmp_path)
    path = f"src/{ROBOT}_3.py"
    old = target.files[path.encode()].decode()
    new = "first = 1\n" + "".join(old.splitlines(keepends=True)[5:])
    before = None if is_whole_write else old
    leave_edit(target.home.path, GOOD, path, before, new, target.ground.base, time.time() - HOUR)
    target.judge_head(target.commit({**target.files, path.encode(): new.encode()}))
    target.share()
    assert target.push().status == 0
    clone = target.clone("ci")
    assert target.pull(clone).status == 0
    for court in (target.court, clone.path):
        target.court = court
        judgment = target.judge()
        assert (judgment.level, judgment.assurance, judgment.is_granted) == ("approve", "witnessed", True), judgment


@pytest.mark.parametrize("on_device", [True, False])
def test_ssh_keygen_accepts_a_persons_signature_of_this_message_only(on_device: bool) -> None:
    key = PersonKey(on_device=on_device)
    signature = key.sign(b"accepted")
    allowed = allowed_signers_from_key(key.public)
    assert find_signature_fault(b"accepted", signature, NAMESPACE) is None
    assert find_signer(b"accepted", signature, NAMESPACE, allowed) == "key"
    assert find_signature_fault(b"rejected", signature, NAMESPACE) is not None
    assert find_signer(b"accepted", signature, "git", allowed) is None
