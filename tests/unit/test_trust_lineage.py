"""Document 001's library works as its examples show, under our package's name."""

import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from custody.core.errors import InputError
from custody.trust.app.decisions import open_trust_folder
from custody.trust.app.verify import trust_verify
from custody.trust_lineage import ChangeComplexity, DecisionType, TrustLineageManager, TrustTier, UnknownAgent

NOON = 1_769_860_800_000_000_000
DAY = 86_400 * 1_000_000_000
COMMITS = count(1)

EXAMPLES = """
from custody.trust_lineage import TrustLineageManager, DecisionType, ChangeComplexity

manager = TrustLineageManager(storage_path=".ai-git")

# Record an accepted decision
record = manager.record_decision(
    agent_id="agent-001",
    decision=DecisionType.ACCEPTED,
    commit_hash="abc1234",
    review_time_ms=5000,
    change_size=45,
    complexity=ChangeComplexity.MINOR
)
# Get trust score
score = manager.get_trust_score("agent-001")
print(f"Score: {score.score}, Confidence: {score.confidence}")

# Get trust tier
tier = manager.get_trust_tier("agent-001")
print(f"Tier: {tier.name}")

# Check auto-approval
can_auto = manager.should_auto_approve("agent-001", change_size=30)
print(f"Auto-approve 30 lines: {can_auto}")
# Get decision history
history = manager.get_agent_history("agent-001", limit=20)
for record in history:
    print(f"{record.decision_type.name}: {record.commit_hash[:8]}")

# Get full agent profile
profile = manager.get_agent_profile("agent-001")
print(f"Total decisions: {profile.total_decisions}")
print(f"Accept rate: {profile.accepted_count / profile.total_decisions:.0%}")
"""


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.day = 0.0

    def __call__(self) -> int:
        return NOON + round(self.day * DAY)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def manager(tmp_path: Path, clock: Clock) -> TrustLineageManager:
    return TrustLineageManager(tmp_path / "store", now_ns=clock)


def decided(manager: TrustLineageManager, *decisions: DecisionType, agent: str = "agent-001") -> None:
    """Decisions with stakes of 1, each about another commit."""
    for decision in decisions:
        commit = f"abc{next(COMMITS):04}"
        manager.record_decision(agent, decision, commit, change_size=50, complexity=ChangeComplexity.TRIVIAL)


# Conformance: 001-070, 001-071, 001-072, 001-073, 001-074, 001-075, 001-076, 001-077, 001-079
def test_the_documents_examples_run(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", EXAMPLES], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    score, *rest = ran.stdout.splitlines()
    assert score.startswith("Score: 0.7662") and score.endswith(", Confidence: 0.01")
    assert rest == [
        "Tier: HIGH",
        "Auto-approve 30 lines: False",
        "ACCEPTED: abc1234",
        "Total decisions: 1",
        "Accept rate: 100%",
    ]
    assert (tmp_path / ".ai-git" / "custody.db").exists()


# Conformance: 001-025
def test_the_plain_formula_of_the_document(manager: TrustLineageManager) -> None:
    decided(manager, DecisionType.ACCEPTED, DecisionType.ACCEPTED, DecisionType.MODIFIED, DecisionType.REJECTED)
    assert manager.get_trust_score("agent-001").score == pytest.approx(0.47495)


# Conformance: 001-016
def test_a_stranger_has_the_score_of_a_newcomer_and_no_profile(manager: TrustLineageManager) -> None:
    score = manager.get_trust_score("stranger")
    assert (score.score, score.confidence, manager.get_trust_tier("stranger")) == (0.5, 0.0, TrustTier.MEDIUM)
    assert manager.get_agent_history("stranger") == []
    with pytest.raises(UnknownAgent, match="no decisions about 'stranger'"):
        manager.get_agent_profile("stranger")


# Conformance: 001-004, 001-047
def test_after_ten_decisions_small_changes_merge_alone(manager: TrustLineageManager) -> None:
    decided(manager, *[DecisionType.ACCEPTED] * 9)
    assert not manager.should_auto_approve("agent-001", 30)
    decided(manager, DecisionType.ACCEPTED)
    assert manager.should_auto_approve("agent-001", change_size=500)
    refused = manager.should_auto_approve("agent-001", change_size=501)
    assert not refused and refused.reasons == ("the change has 501 lines, more than the 500 of VERIFIED",)


# Conformance: 001-078
def test_history_is_newest_first(manager: TrustLineageManager, clock: Clock) -> None:
    for day, name in enumerate(("first", "second", "third")):
        clock.day = day
        manager.record_decision("a", DecisionType.ACCEPTED, name, change_size=day, review_time_ms=-1)
    assert [record.commit_hash for record in manager.get_agent_history("a", limit=2)] == ["third", "second"]


# Conformance: 001-071
def test_what_was_recorded_is_still_there_for_the_next_manager(tmp_path: Path, manager: TrustLineageManager) -> None:
    decided(manager, DecisionType.REJECTED)
    assert TrustLineageManager(tmp_path / "store").get_agent_profile("agent-001").rejected_count == 1


# Conformance: 001-045
def test_a_score_fades_when_it_is_read(manager: TrustLineageManager, clock: Clock) -> None:
    decided(manager, DecisionType.ACCEPTED)
    clock.day = 30
    assert manager.get_trust_score("agent-001").score == pytest.approx(0.575)


# Conformance: 001-063
def test_a_recovery_lifts_and_then_waits_a_week(manager: TrustLineageManager, clock: Clock) -> None:
    decided(manager, DecisionType.REJECTED)
    assert manager.apply_recovery("agent-001", 0.5).score == pytest.approx(0.40)
    with pytest.raises(InputError, match="the last recovery is less than 7 day"):
        manager.apply_recovery("agent-001")
    clock.day = 7
    manager.apply_recovery("agent-001", actor="ana", reason="a new model")
    assert manager.get_agent_profile("agent-001").total_decisions == 1


@pytest.mark.parametrize("boost", [0, -0.1, float("nan"), 1.5])
def test_a_recovery_of_nothing_is_refused(manager: TrustLineageManager, boost: float) -> None:
    decided(manager, DecisionType.REJECTED)
    with pytest.raises(InputError, match="invalid boost"):
        manager.apply_recovery("agent-001", boost)


# Conformance: 001-068
def test_a_new_agent_does_not_start_with_a_recovery(manager: TrustLineageManager) -> None:
    with pytest.raises(UnknownAgent):
        manager.apply_recovery("stranger", 0.05)


@pytest.mark.parametrize(
    "arguments",
    [
        {"change_size": -1},
        {"change_size": float("nan")},
        {"change_size": 1.5},
        {"review_time_ms": float("nan")},
        {"decision": "approved"},
        {"complexity": 4},
        {"agent_id": ""},
        {"commit_hash": "a\nb"},
        {"actor": "agent-001"},
    ],
    ids=str,
)
def test_bad_input_is_refused_and_nothing_is_recorded(
    manager: TrustLineageManager, arguments: dict[str, object]
) -> None:
    wanted: dict[str, object] = {"agent_id": "agent-001", "decision": DecisionType.ACCEPTED, "commit_hash": "abc1234"}
    with pytest.raises(InputError):
        manager.record_decision(**{**wanted, **arguments})  # type: ignore[arg-type]
    assert manager.get_trust_score("agent-001").sample_count == 0
    with pytest.raises(InputError):
        manager.should_auto_approve("agent-001", -1)


def test_the_same_decision_id_is_taken_once(manager: TrustLineageManager) -> None:
    manager.record_decision("a", DecisionType.ACCEPTED, "abc1234", decision_id="pr-1")
    with pytest.raises(InputError, match="'pr-1' is already decided"):
        manager.record_decision("a", DecisionType.REJECTED, "abc1234", decision_id="pr-1")


# Conformance: 001-080, 001-081, 001-084, 001-085, 001-086, 001-087
def test_the_documents_file_and_variables_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.yaml").write_text(
        "trust:\n  decay_half_life_days: 10\n  recovery_rate: 0.02\n  ema_alpha: 0.5\n"
    )
    monkeypatch.setenv("ANSIBEL_TRUST_THRESHOLD_HIGH", "0.8")
    monkeypatch.setenv("ANSIBEL_TRUST_THRESHOLD_MEDIUM", "0.5")
    manager = TrustLineageManager(tmp_path)
    rules = manager.rules
    assert (rules.decay_half_life_days, rules.recovery_rate, rules.ema_alpha) == (10, 0.02, 0.5)
    assert list(rules.tier_score_min) == [0, 0.2, 0.5, 0.8, 0.8]
    decided(manager, DecisionType.ACCEPTED)
    assert manager.get_trust_score("agent-001").score == pytest.approx(0.75, abs=1e-4)
    assert manager.get_trust_tier("agent-001") is TrustTier.MEDIUM


# Conformance: 001-085, 001-086, 001-087
def test_without_file_and_variables_the_documents_defaults_hold(manager: TrustLineageManager) -> None:
    rules = manager.rules
    assert (rules.decay_half_life_days, rules.recovery_rate, rules.ema_alpha) == (30, 0.05, 0.3)
    assert (rules.profile, rules.tier_score_min) == ("document", (0, 0.2, 0.4, 0.6, 0.8))


# Conformance: 001-083
def test_thresholds_out_of_order_are_an_error_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSIBEL_TRUST_THRESHOLD_HIGH", "0.3")
    with pytest.raises(InputError, match=r"falls from 0\.4 \(entry 3\) to 0\.3 \(entry 4\).*THRESHOLD_HIGH"):
        TrustLineageManager(tmp_path)


# Conformance: 001-084
def test_an_unknown_key_of_the_file_and_a_link_in_its_place_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("trust:\n  decay_half_life: 10\n")
    with pytest.raises(InputError, match="decay_half_life"):
        TrustLineageManager(tmp_path)
    (tmp_path / "config.yaml").rename(tmp_path / "other.yaml")
    (tmp_path / "config.yaml").symlink_to(tmp_path / "other.yaml")
    with pytest.raises(InputError, match="config.yaml"):
        TrustLineageManager(tmp_path)


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is not a folder"):
        TrustLineageManager(tmp_path / "file")


def test_looking_makes_nothing(tmp_path: Path) -> None:
    TrustLineageManager(tmp_path / "store").get_trust_score("a")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(("processes", "each"), [(4, 8), pytest.param(8, 50, marks=pytest.mark.slow)])
def test_processes_that_record_at_once_lose_nothing(tmp_path: Path, processes: int, each: int) -> None:
    program = (
        "import sys\n"
        "from custody.trust_lineage import TrustLineageManager, DecisionType\n"
        f"manager = TrustLineageManager({str(tmp_path / 'store')!r})\n"
        f"for n in range({each}):\n"
        "    manager.record_decision('robot', DecisionType.ACCEPTED, f'{sys.argv[1]}-{n}', change_size=n)\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, str(n)]) for n in range(processes)]
    assert [process.wait() for process in running] == [0] * processes
    manager = TrustLineageManager(tmp_path / "store")
    assert manager.get_agent_profile("robot").total_decisions == processes * each
    report = trust_verify(open_trust_folder(tmp_path / "store"))
    assert (report.outcome, report.decisions, report.agents) == ("fine", processes * each, 1)


def test_the_same_decisions_give_the_same_score_to_the_bit(tmp_path: Path) -> None:
    scores = []
    for name in ("one", "two"):
        ticks = count(NOON, DAY // 7)
        manager = TrustLineageManager(tmp_path / name, now_ns=lambda ticks=ticks: next(ticks))  # type: ignore[misc]
        for n, decision in enumerate((DecisionType.ACCEPTED, DecisionType.REJECTED, DecisionType.ACCEPTED)):
            manager.record_decision("a", decision, "abc1234", change_size=n * 37, review_time_ms=1 + n * 9_999)
        scores.append([record.score_after for record in manager.get_agent_history("a")])
    assert scores[0] == scores[1]
