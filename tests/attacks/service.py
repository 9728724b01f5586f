"""The HTTP service: strangers, forged webhooks, and its own operator."""

import json
import shutil

from custody.server.app.tenancy import connect_control_tables
from custody.server.auth import CallerLimits
from custody.server.control import JobState
from custody.workspace.workspace import Workspace
from tests.attacks.authorship import BACK_DOOR, propose_unseen
from tests.attacks.decisions import A1, host_reviews
from tests.attacks.ground import APP, DEVICE, GOOD, OLD, ROBOT, a_decision, an_event_of, put, signed
from tests.attacks.model import Attacker, WayIn
from tests.attacks.registry import AttackBook
from tests.attacks.remote import check_noticed
from tests.attacks.target import Target, copy_repository
from tests.builders.fake_github import FakeGitHub
from tests.builders.repo import Built, a_clone
from tests.builders.service import ALL, a_keeper, listening

BOOK = AttackBook()

A4, A5 = Attacker.OPERATOR, Attacker.STRANGER
WEBHOOK = "/github/webhook"
NUMBER = 3


def _check_statuses(target: Target) -> None:
    for status, allowed in target.notes["statuses"]:
        assert status in allowed, f"the service answered {status}, expected one of {sorted(allowed)}"


@BOOK.attack(
    A5, WayIn.SERVICE, does="sends events without a token, or with one that may only read", check=_check_statuses
)
def evidence_without_rights(target: Target) -> None:
    reviews = host_reviews(target)
    edit = an_event_of("edit", agent=GOOD, session="s-x", path=APP, before=OLD, after=target.topic_text, proposed="")
    with target.service() as service:
        target.notes["statuses"] = [
            (service.client.post("/api/v1/evidence", json=edit).status_code, {401}),
            *(
                (service.send("evidence", one, token).status_code, {401, 403})
                for one in reviews
                for token in ("read", "x")
            ),
        ]


@BOOK.attack(A1, WayIn.SERVICE, does="posts decisions with the user's own token")
def decisions_over_http(target: Target) -> None:
    with target.service() as service:
        for number, sha in enumerate(target.ground.robots):
            service.send("evidence", a_decision(ROBOT, sha, id=f"http-{number}", actor="ana"))
            body = {"agent": ROBOT, "decision": "accepted", "commit": sha, "actor": "ana", "review_seconds": 600}
            service.send("decisions", body)


@BOOK.attack(
    A1, WayIn.SERVICE, does="posts an edit in the name of a trusted agent with the user's token", prepare=propose_unseen
)
def borrowed_name_over_http(target: Target) -> None:
    facts = {"session": f"s-{GOOD}", "path": APP, "before": OLD, "after": BACK_DOOR, "head": target.ground.base}
    with target.service() as service:
        service.send("evidence", an_event_of("edit", agent=GOOD, **facts))


def _a_pull(target: Target) -> FakeGitHub:
    fake = FakeGitHub()
    fake.opened(NUMBER, target.ground.base, target.topic)
    return fake


def _a_review(target: Target, fake: FakeGitHub, by: str) -> bytes:
    """Return the body of a webhook about an approving review of the change."""
    merged = fake.closed(NUMBER, target.topic)
    review = {"id": 9, "state": "approved", "commit_id": target.topic, "user": {"login": by, "id": 1, "type": "User"}}
    repository = json.loads(fake.delivery("pull_request", "closed", NUMBER, "g" * 9)[0])["repository"]
    body = {"action": "submitted", "review": review, "pull_request": merged, "number": NUMBER}
    return json.dumps({**body, "repository": repository, "sender": review["user"]}).encode()


def _list_jobs(target: Target) -> list[str]:
    with connect_control_tables(Workspace(target.home.path)) as control:
        return [job.kind for job in control.jobs.list_in_states((JobState.WAITING,), 99)]


def _check_no_jobs(target: Target) -> None:
    _check_statuses(target)
    assert _list_jobs(target) == [], "a forged webhook became a job"


@BOOK.attack(A5, WayIn.SERVICE, does="posts webhooks about its own merge with a wrong signature", check=_check_no_jobs)
def forged_webhooks(target: Target) -> None:
    fake = _a_pull(target)
    fake.closed(NUMBER, target.topic)
    body, headers = fake.delivery("pull_request", "closed", NUMBER, "delivery-1")
    review = _a_review(target, fake, "ana")
    forged = ("sha256=" + "0" * 64, "sha1=" + "0" * 40, "")
    with target.service() as service:
        target.notes["statuses"] = [
            (service.client.post(WEBHOOK, content=content, headers={**headers, **more}).status_code, {401})
            for content in (body, review)
            for more in ({"X-Hub-Signature-256": signature} for signature in forged)
        ]


def _check_one_job(target: Target) -> None:
    _check_statuses(target)
    jobs = _list_jobs(target)
    assert len(jobs) == 1, f"one delivery, sent four times, became {len(jobs)} jobs: {jobs}"


@BOOK.attack(
    A5, WayIn.SERVICE, does="sends a signed webhook again, under its id and under others", check=_check_one_job
)
def replayed_webhook(target: Target) -> None:
    fake = _a_pull(target)
    fake.closed(NUMBER, target.topic)
    body, headers = fake.delivery("pull_request", "closed", NUMBER, "delivery-1")
    with target.service() as service:
        target.notes["statuses"] = [
            (
                service.client.post(WEBHOOK, content=body, headers={**headers, "X-GitHub-Delivery": guid}).status_code,
                {200, 202},
            )
            for guid in ("delivery-1", "delivery-1", "delivery-2", "delivery-3")
        ]


@BOOK.attack(A5, WayIn.SERVICE, does="approves its own pull request on the code host", check=_check_statuses)
def review_by_the_author(target: Target) -> None:
    fake = _a_pull(target)
    statuses: list[tuple[int, set[int]]] = []
    with target.service() as service:
        for number in range(12):
            body, headers = fake.signed(
                "pull_request_review", _a_review(target, fake, "contributor"), f"review-{number:04}"
            )
            statuses.append((service.client.post(WEBHOOK, content=body, headers=headers).status_code, {200, 202, 422}))
    target.notes["statuses"] = statuses


# The operator of the service: what clients pulled before cannot be taken away from them.


def _share_through_service(target: Target) -> None:
    """Push a good record and eleven rejections to a service; a clone pulled both and judges the trusted change."""
    target.judge_branch("trusted")
    served = Built(target.folder / "served")
    served.path.mkdir()
    served.git("init", "--quiet")
    target.notes["served"] = Workspace(served.path)
    clone = a_clone(target.home, target.folder / "client")
    with listening(a_keeper(target.notes["served"]), CallerLimits()) as port:
        target.notes["port"] = port
        _add_service(target, port)
        target.run("push", "team")
        shutil.copytree(served.path, target.folder / "served-early")
        copy_repository(target.home.path, target.folder / "fork")
        put(
            target.home.path,
            *(
                signed(a_decision(GOOD, sha, id=f"no-{n}", actor="ana", decision="rejected"), DEVICE, "ana")
                for n, sha in enumerate(target.ground.good)
            ),
        )
        target.run("push", "team")
        target.run("pull", "team", at=clone.path)
    target.court = clone.path


def _add_service(target: Target, port: int) -> None:
    token = target.folder / "token"
    token.write_text(ALL)
    target.run("remote", "remove", "team")
    target.run("remote", "add", "team", f"http://127.0.0.1:{port}", "--token-file", str(token))


def _pull_again(target: Target, workspace: Workspace) -> None:
    """Pull from the same address, where another database is served now."""
    with listening(a_keeper(workspace), CallerLimits(), target.notes["port"]):
        target.notes["pulled"] = target.run("pull", "team", at=target.court)


@BOOK.attack(
    A4,
    WayIn.SERVICE,
    does="puts an older database in place; a client that knew more pulls",
    prepare=_share_through_service,
    check=check_noticed,
)
def rolled_back_service(target: Target) -> None:
    _pull_again(target, Workspace(target.folder / "served-early"))


@BOOK.attack(
    A4,
    WayIn.SERVICE,
    does="serves another continuation of a chain than clients know",
    prepare=_share_through_service,
    check=check_noticed,
)
def forked_service(target: Target) -> None:
    early, fork = Workspace(target.folder / "served-early"), Built(target.folder / "fork")
    put(fork.path, *(a_decision(GOOD, None, id=f"yes-{n}", actor="ana") for n in range(20)))
    with listening(a_keeper(early), CallerLimits(), target.notes["port"]):
        target.run("push", "team", at=fork.path)
    _pull_again(target, early)
