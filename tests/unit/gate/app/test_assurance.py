"""Who vouches for a verdict, judged in a real repository with and without a team's policy."""

from pathlib import Path

import pytest

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.gate.wire.report import GateReport
from custody.workspace.store_identity import describe_store
from tests.builders.judged import NEW, OLD, Judged, codes


def a_policy(world: Judged, least: str, *, role: str = "member", key: str | None = None) -> bytes:
    """Return the policy of a team that enrolls the world's store."""
    store = describe_store(world.workspace)
    line = f'me = {{ id = "{store.id}", key = "{key or store.key}", role = "{role}" }}'
    return f'[gate]\nassurance_min = "{least}"\n\n[stores]\n{line}\n'.encode()


def ruled(world: Judged, policy: bytes, *, head_policy: bytes | None = None) -> CommitSha:
    """Set a policy on the base; the change leaves it, unless ``head_policy`` replaces it."""
    world.base = world.built.commit({b"a.py": OLD.encode(), b"custody.toml": policy}, world.first, at=world.noon - 7100)
    files = {b"a.py": NEW.encode(), b"custody.toml": policy if head_policy is None else head_policy}
    world.second = world.built.commit(files, world.base, at=world.noon, ref="refs/heads/main")
    return world.base


def answer(report: GateReport) -> tuple[str, str, list[str]]:
    return report.level, report.assurance, codes(report)


@pytest.fixture
def world(tmp_path: Path) -> Judged:
    return Judged(tmp_path / "repository")


def test_without_a_policy_an_approval_is_self_reported(world: Judged) -> None:
    world.decide(12)
    world.edit()
    assert answer(world.said()) == ("approve", "self-reported", [])


def test_a_recorded_agent_of_an_enrolled_store_has_a_name_and_unwitnessed_reviews_do_not_count(world: Judged) -> None:
    world.decide(12)
    world.edit()
    ruled(world, a_policy(world, "enrolled"))
    report = world.said()
    assert report.level == "review"
    assert "TRUST-UNKNOWN" not in codes(report)
    assert "TRUST-SAMPLES" in codes(report)


@pytest.mark.parametrize("key", ["ssh-ed25519 AAAA", None])
def test_a_store_without_its_listed_key_is_self_reported(world: Judged, key: str | None) -> None:
    world.decide(12)
    world.edit()
    ruled(world, a_policy(world, "witnessed" if key is None else "enrolled", key=key))
    report = world.said()
    assert (report.level, "TRUST-UNKNOWN" in codes(report)) == ("review", True)
    (reason,) = [reason for reason in report.reasons if reason.code == "TRUST-UNKNOWN"]
    least, had = ("witnessed", "enrolled") if key is None else ("enrolled", "self-reported")
    assert reason.sentence.startswith(
        f"only {had} evidence says which agent wrote 2 added lines (gate.assurance_min = {least})"
    )


def test_a_person_in_an_enrolled_store_counts_as_unknown_where_a_witness_is_needed(world: Judged) -> None:
    world.edit(proposed=OLD)
    assert answer(world.said()) == ("approve", "self-reported", [])
    ruled(world, a_policy(world, "enrolled"))
    assert answer(world.said()) == ("approve", "enrolled", [])
    world.base = world.first
    ruled(world, a_policy(world, "witnessed"))
    report = world.said()
    assert answer(report) == ("review", "enrolled", ["ATTR-SELF"])
    assert report.reasons[0].sentence == (
        "2 of 2 added lines are a person's only by enrolled evidence (gate.assurance_min = witnessed),"
        " first at 'a.py:3'"
    )


def test_a_generic_edit_as_a_persons_is_a_claim_even_in_an_enrolled_store(world: Judged) -> None:
    world.tell("edit", -30, **{**world.an_edit(), "proposed": ""})
    assert answer(world.said()) == ("review", "self-reported", ["ATTR-WEAK"])
    ruled(world, a_policy(world, "enrolled"))
    assert answer(world.said()) == ("review", "self-reported", ["ATTR-SELF"])


def test_the_store_of_a_witness_vouches_for_what_it_recorded(world: Judged) -> None:
    world.edit(proposed=OLD)
    ruled(world, a_policy(world, "witnessed", role="witness"))
    assert answer(world.said()) == ("approve", "witnessed", [])


def test_a_change_cannot_enroll_its_own_store(world: Judged) -> None:
    world.edit(proposed=OLD)
    ruled(world, b'[gate]\nassurance_min = "enrolled"\n', head_policy=a_policy(world, "enrolled"))
    report = world.said()
    assert (report.level, sorted(codes(report))) == ("review", ["ATTR-NONE", "ATTR-SELF", "POLICY-CHANGED"])


def test_a_store_that_the_base_dropped_since_the_fork_is_not_enrolled(world: Judged) -> None:
    world.edit(proposed=OLD)
    fork = ruled(world, a_policy(world, "enrolled"))
    files = {b"a.py": OLD.encode(), b"custody.toml": b'[gate]\nassurance_min = "enrolled"\n'}
    world.base = world.built.commit(files, fork, at=world.noon - 60, ref="refs/heads/base")
    assert answer(world.said()) == ("review", "self-reported", ["ATTR-SELF"])


@pytest.mark.parametrize("path", [b".github/workflows/ci.yml", b".gitlab-ci.yml", b"custody.toml"])
def test_a_change_of_a_workflow_or_the_policy_is_never_approved(world: Judged, path: bytes) -> None:
    world.decide(12)
    world.edit()
    levels = b'[gate.levels]\nPOLICY-CHANGED = "approve"\nATTR-NONE = "review"\n'
    base = {b"a.py": OLD.encode(), b"custody.toml": levels}
    world.base = world.built.commit(base, world.first, at=world.noon - 7100)
    head = {**base, b"a.py": NEW.encode(), path: base.get(path, b"") + b"# more\n"}
    world.second = world.built.commit(head, world.base, at=world.noon, ref="refs/heads/main")
    report = world.said()
    (reason,) = [reason for reason in report.reasons if reason.code == "POLICY-CHANGED"]
    assert (report.level, reason.level) == ("review", "review")
    assert reason.sentence == f"the change edits files that decide what may merge: '{path.decode()}'"


def test_an_invalid_policy_of_the_base_is_an_error(world: Judged) -> None:
    world.edit()
    ruled(world, b'[stores]\nme = { id = "x", key = "y" }\n')
    with pytest.raises(InputError, match="invalid .stores. or .reviewers."):
        world.said()
