"""Webhook deliveries: believed only if signed, taken in once, answered at once; what is to be done becomes jobs."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from custody.core.digest import digest_of
from custody.core.errors import InputError
from custody.core.wire.canonical import Json
from custody.server.app.github_jobs import JUDGE, OUTCOME, REVERTS
from custody.server.app.github_settings import GitHubSettings
from custody.server.app.jobs import NewJob, add_job
from custody.server.control import ControlTables, GitHubConnection
from custody.server.github.shapes import (
    Delivery,
    decode_delivery,
    is_signed,
    parse_commit_name,
    parse_repository_name,
)

GUID = re.compile(r"[A-Za-z0-9-]{8,64}")
LOOKED_AGAIN = frozenset(("opened", "reopened", "synchronize", "edited", "ready_for_review"))


class DeliveryFate(Enum):
    """What became of a delivery."""

    QUEUED = "queued"
    KNOWN = "known"
    """It was taken in before: nothing happens a second time."""
    NOTHING = "nothing"
    """There is nothing to do for it."""
    STRANGER = "stranger"
    """It is not signed with our secret."""
    CLOSED = "closed"
    """No secret is set, so nobody can be believed."""


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    """A delivery as it came: its headers and the bytes that are signed."""

    event: str
    id: str
    signature: str | None
    body: bytes


@dataclass(frozen=True, slots=True)
class DeliveryAnswer:
    """What became of it, in words, and how many jobs it made."""

    taken: DeliveryFate
    said: str
    jobs: int = 0


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job that a delivery asks for: which kind, about what, told apart from others by ``key``."""

    kind: str
    key: str
    payload: dict[str, Json]


@dataclass(frozen=True, slots=True)
class DeliveryIntake:
    """Takes deliveries in."""

    settings: GitHubSettings
    now_ns: Callable[[], int]
    token: Callable[[], str]

    def take_in(self, control: ControlTables, sent: WebhookDelivery) -> DeliveryAnswer:
        """Take a delivery in, or say why not; whatever is kept of it is kept in one transaction."""
        if self.settings.secret is None:
            return DeliveryAnswer(DeliveryFate.CLOSED, "this service takes no webhooks: no secret is set")
        if not is_signed(sent.body, self.settings.secret, sent.signature):
            return DeliveryAnswer(DeliveryFate.STRANGER, "the delivery is not signed with our secret")
        if GUID.fullmatch(sent.id) is None:
            raise InputError("the delivery has no id", hint="GitHub sends it as X-GitHub-Delivery")
        delivery = decode_delivery(sent.body)
        if sent.event == "ping":
            return DeliveryAnswer(DeliveryFate.NOTHING, "pong")
        if delivery.repository is None:
            return DeliveryAnswer(DeliveryFate.NOTHING, "it is about no repository")
        connected = control.github.named(parse_repository_name(delivery.repository.full_name))
        if connected is None:
            return DeliveryAnswer(
                DeliveryFate.NOTHING, "the repository is not connected: 'custody github connect' does that"
            )
        wishes = tuple(EVENTS.get(sent.event, _none)(delivery, connected))
        if not wishes:
            return DeliveryAnswer(DeliveryFate.NOTHING, "there is nothing to do for it")
        with control.writing():
            return self._queued(control, sent, delivery, connected, wishes)

    def _queued(
        self,
        control: ControlTables,
        sent: WebhookDelivery,
        delivery: Delivery,
        connected: GitHubConnection,
        wishes: tuple[JobRequest, ...],
    ) -> DeliveryAnswer:
        now = self.now_ns()
        # A check that is asked for twice has the same bytes twice; of the others every body tells its moment.
        if not control.github.take_in(
            sent.id, digest_of(sent.body), now, same_body_too=sent.event in ("pull_request", "push")
        ):
            return DeliveryAnswer(DeliveryFate.KNOWN, "it was taken in before")
        if delivery.installation is not None:
            control.github.installed(connected.full_name, delivery.installation.id)
        jobs = [NewJob(wish.kind, connected.project, f"{wish.key}:{sent.id}", wish.payload) for wish in wishes]
        made = sum(add_job(control, job, id_=self.token(), now_ns=now) for job in jobs)
        return DeliveryAnswer(DeliveryFate.QUEUED, "queued", made)


def judge_wish(repository: str, number: int) -> JobRequest:
    """That a pull request is judged as it is when the job runs."""
    return JobRequest(JUDGE, f"{repository}#{number}", {"repository": repository, "number": number})


def outcome_wish(repository: str, number: int) -> JobRequest:
    """That what became of a closed pull request is recorded."""
    return JobRequest(OUTCOME, f"{repository}#{number}", {"repository": repository, "number": number})


def _pull_request(delivery: Delivery, connected: GitHubConnection) -> Iterator[JobRequest]:
    pull = delivery.pull_request
    if pull is None:
        raise InputError("the delivery has no pull request")
    if delivery.action in LOOKED_AGAIN:
        yield judge_wish(connected.full_name, pull.number)
    elif delivery.action == "closed":
        yield outcome_wish(connected.full_name, pull.number)


def _check_run(delivery: Delivery, connected: GitHubConnection) -> Iterator[JobRequest]:
    if delivery.check_run is None or delivery.action != "rerequested":
        return
    for pull in delivery.check_run.pull_requests:
        number = pull.get("number")
        if isinstance(number, int):
            yield judge_wish(connected.full_name, number)


def _push(delivery: Delivery, connected: GitHubConnection) -> Iterator[JobRequest]:
    """A push to the default branch may undo what was merged; a branch that is gone undoes nothing."""
    branch = "" if delivery.repository is None else delivery.repository.default_branch
    if delivery.ref != f"refs/heads/{branch}" or not branch or set(delivery.after) == {"0"}:
        return
    before, after = parse_commit_name(delivery.before), parse_commit_name(delivery.after)
    payload: dict[str, Json] = {"repository": connected.full_name, "before": before, "after": after}
    yield JobRequest(REVERTS, f"{connected.full_name}@{after}", payload)


def _none(delivery: Delivery, connected: GitHubConnection) -> Iterator[JobRequest]:
    yield from ()


EVENTS = MappingProxyType({"pull_request": _pull_request, "check_run": _check_run, "push": _push})
"""What each event asks for; every other asks for nothing."""
