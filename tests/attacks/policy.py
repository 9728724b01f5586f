"""A policy that the change, or the account that judges it, brings along."""

from tests.attacks.authorship import BACK_DOOR, propose_unseen
from tests.attacks.decisions import A1, accept, host_reviews
from tests.attacks.ground import AGENTS_OWN, APP, GOOD
from tests.attacks.model import Attacker, WayIn
from tests.attacks.registry import AttackBook
from tests.attacks.signatures import sign_reviews
from tests.attacks.target import Target

BOOK = AttackBook()

WEAK_GATE = (
    '[gate]\nassurance_min = "self-reported"\nduplicates = "off"\ngrade_min = "claimed"\ntier_max = 5\n'
    "[trust]\napprove_samples_min = 1\naudit_share = 0.0\nreview_paths = []\n"
)


def _own_policy(target: Target) -> str:
    """Return a policy that enrolls the agent itself, as a witness and as a reviewer."""
    key = AGENTS_OWN.public
    return (
        f'{WEAK_GATE}[stores]\nmine = {{ id = "{target.ground.store}", key = "{target.ground.store_key}",'
        f' role = "witness" }}\n[reviewers]\nana = {{ key = "{key}", accounts = ["ana@example.com"] }}\n'
    )


def _accept_all(target: Target) -> None:
    for commit in target.ground.robots:
        accept(target, commit, "ana")


@BOOK.attack(A1, WayIn.FILES, WayIn.CLI, does="weakens custody.toml in its own change")
def policy_in_the_head(target: Target) -> None:
    _accept_all(target)
    target.judge_head(target.commit({**target.topic_files, b"custody.toml": WEAK_GATE.encode()}))


@BOOK.attack(A1, WayIn.FILES, WayIn.CLI, does="enrolls its own store and key in its own change")
def self_enrolled_store_in_the_head(target: Target) -> None:
    target.record(*host_reviews(target), *sign_reviews(target, AGENTS_OWN, "ana", target.ground.robots))
    target.judge_head(target.commit({**target.topic_files, b"custody.toml": _own_policy(target).encode()}))


@BOOK.attack(A1, WayIn.FILES, WayIn.CLI, does="enrolls itself in custody.toml of the work tree")
def policy_in_the_work_tree(target: Target) -> None:
    target.record(*host_reviews(target), *sign_reviews(target, AGENTS_OWN, "ana", target.ground.robots))
    (target.home.path / "custody.toml").write_text(_own_policy(target))


@BOOK.attack(A1, WayIn.FILES, WayIn.CLI, does="weakens the policy in the user's own configuration")
def policy_in_the_users_configuration(target: Target) -> None:
    _accept_all(target)
    configuration = target.folder / "configuration"
    (configuration / "custody").mkdir(parents=True)
    (configuration / "custody" / "config.toml").write_text(WEAK_GATE)
    target.environment["XDG_CONFIG_HOME"] = str(configuration)


@BOOK.attack(A1, WayIn.CLI, does="weakens the policy with environment variables")
def policy_in_variables(target: Target) -> None:
    _accept_all(target)
    target.environment |= {
        "ANSIBEL_TRUST_THRESHOLD_HIGH": "0.0",
        "ANSIBEL_TRUST_THRESHOLD_MEDIUM": "0.0",
        "CUSTODY_GATE_ASSURANCE_MIN": "self-reported",
        "CUSTODY_ASSURANCE_MIN": "self-reported",
    }


@BOOK.attack(A1, WayIn.FILES, does="adds rules to pyproject.toml in its own change")
def policy_in_pyproject(target: Target) -> None:
    _accept_all(target)
    rules = WEAK_GATE.replace("[gate]", "[tool.custody.gate]").replace("[trust]", "[tool.custody.trust]")
    target.judge_head(target.commit({**target.topic_files, b"pyproject.toml": rules.encode()}))


def _check_not_approved(target: Target) -> None:
    assert target.verdict is not None
    assert target.verdict.level != "approve", "a change of a workflow or of the policy was approved by trust"


def _judge_trusted(target: Target) -> None:
    target.judge_branch("trusted")


@BOOK.attack(
    A1, WayIn.FILES, does="changes a workflow as a trusted agent", prepare=_judge_trusted, check=_check_not_approved
)
def changed_workflow(target: Target) -> None:
    more = {b".github/workflows/ci.yml": b"on: push\njobs: {}\n"}
    target.judge_head(target.agent_commit("with_workflow", 5, agent=GOOD, more=more))


@BOOK.attack(
    A1, WayIn.FILES, does="changes the policy as a trusted agent", prepare=_judge_trusted, check=_check_not_approved
)
def changed_policy(target: Target) -> None:
    policy = target.files[b"custody.toml"] + b"# one more line\n"
    target.judge_head(target.agent_commit("with_policy", 5, agent=GOOD, more={b"custody.toml": policy}))


@BOOK.attack(
    A1,
    WayIn.FILES,
    does="adds a CI file of another host as a trusted agent",
    prepare=_judge_trusted,
    check=_check_not_approved,
)
def added_ci_file(target: Target) -> None:
    more = {b".gitlab-ci.yml": b"test:\n  script: curl example.com\n"}
    target.judge_head(target.agent_commit("with_ci", 5, agent=GOOD, more=more))


@BOOK.attack(
    Attacker.STRANGER, WayIn.REMOTE, does="brings a policy in the fork that enrolls itself", prepare=propose_unseen
)
def policy_in_the_fork(target: Target) -> None:
    files = {**target.files, APP.encode(): BACK_DOOR.encode(), b"custody.toml": _own_policy(target).encode()}
    target.judge_head(target.commit(files, ref="refs/heads/fork"))
    target.home.checkout("fork")


@BOOK.attack(
    Attacker.STRANGER, WayIn.FILES, does="brings the documents' rule files in the fork", prepare=propose_unseen
)
def rule_files_in_the_fork(target: Target) -> None:
    rules = b"trust:\n  approve_samples_min: 0\n"
    more = {b".ai-git/config.yaml": rules, b".custody/config.toml": WEAK_GATE.encode()}
    target.judge_head(target.commit({**target.files, APP.encode(): BACK_DOOR.encode(), **more}, ref="refs/heads/fork"))
    target.home.checkout("fork")
