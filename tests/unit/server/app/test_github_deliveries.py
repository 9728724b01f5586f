"""Webhook deliveries: only signed ones are accepted, each once, and they become jobs."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.server.app.github_deliveries import DeliveryIntake, UntrustedDelivery, WebhookDelivery
from custody.server.app.github_jobs import GitHubSettings, read_github_settings
from custody.server.control import ControlTables, JobState, open_control_file
from custody.server.github.shapes import WebhookReport, has_valid_webhook_signature
from tests.builders.fake_github import REPOSITORY, FakeGitHub

BASE, HEAD = "b" * 40, "a" * 40
GUID = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
fake = FakeGitHub()
numbers = count()


@pytest.fixture
def control(tmp_path: Path) -> Iterator[ControlTables]:
    with open_control_file(tmp_path / "service.db") as one:
        one.github.connect(REPOSITORY, "default")
        yield one


@pytest.fixture
def keeper() -> DeliveryIntake:
    return DeliveryIntake(GitHubSettings(secret=fake.secret), lambda: 1, lambda: f"{next(numbers):032x}")


def sent(body: bytes, headers: dict[str, str]) -> WebhookDelivery:
    """Return a delivery as the service passes it on."""
    return WebhookDelivery(
        headers["X-GitHub-Event"], headers["X-GitHub-Delivery"], headers["X-Hub-Signature-256"], body
    )


def opened(action: str = "opened", guid: str = GUID, **more: str) -> WebhookDelivery:
    """Return a delivery about a pull request."""
    fake.opened(3, BASE, HEAD, **more)
    return sent(*fake.delivery("pull_request", action, 3, guid))


def waiting(control: ControlTables) -> list[tuple[str, str, str]]:
    """Return the kind, the project and the payload of each waiting job."""
    return [(job.kind, job.project, job.payload) for job in control.jobs.list_in_states((JobState.WAITING,), 99)]


@pytest.mark.parametrize(
    ("action", "kind"),
    [("opened", "judge"), ("synchronize", "judge"), ("reopened", "judge"), ("closed", "outcome"), ("labeled", None)],
)
def test_a_pull_request_becomes_a_job(
    control: ControlTables, keeper: DeliveryIntake, action: str, kind: str | None
) -> None:
    answer = keeper.take_in(control, opened(action))
    made = [("github." + kind, "default", json.dumps({"number": 3, "repository": REPOSITORY}))] if kind else []
    assert waiting(control) == [(one, project, text.replace(" ", "")) for one, project, text in made]
    assert answer.taken == ("queued" if kind else "nothing")


def test_a_delivery_is_taken_in_once(control: ControlTables, keeper: DeliveryIntake) -> None:
    assert keeper.take_in(control, opened()) == WebhookReport(taken="queued", said="queued", jobs=1)
    assert keeper.take_in(control, opened()).taken == "known"
    assert len(waiting(control)) == 1


def test_the_same_body_under_another_id_is_a_replay(control: ControlTables, keeper: DeliveryIntake) -> None:
    keeper.take_in(control, opened())
    assert keeper.take_in(control, opened(guid="another-" + GUID)).taken == "known"
    assert keeper.take_in(control, opened(guid="third-" + GUID, title="edited since")).taken == "queued"


def test_a_check_that_is_asked_for_twice_runs_twice(control: ControlTables, keeper: DeliveryIntake) -> None:
    body = {
        "action": "rerequested",
        "check_run": {"id": 1, "name": "custody", "head_sha": HEAD, "pull_requests": [{"number": 3}, {"number": 4}]},
        "repository": {"full_name": REPOSITORY},
    }
    for guid in ("first-delivery", "second-delivery"):
        assert keeper.take_in(control, sent(*fake.signed("check_run", json.dumps(body).encode(), guid))).jobs == 2


@pytest.mark.parametrize("change", ["body", "signature", "none", "sha1", "empty"])
def test_a_delivery_without_a_valid_signature_is_rejected(
    control: ControlTables, keeper: DeliveryIntake, change: str
) -> None:
    one = opened()
    forged = {
        "body": replace(one, body=one.body.replace(b"opened", b"closed")),
        "signature": replace(one, signature="sha256=" + "0" * 64),
        "none": replace(one, signature=None),
        "sha1": replace(one, signature="sha1=" + "0" * 40),
        "empty": replace(one, signature="sha256="),
    }[change]
    with pytest.raises(UntrustedDelivery, match="the signature of the delivery is invalid"):
        keeper.take_in(control, forged)
    assert not waiting(control)
    assert keeper.take_in(control, one).taken == "queued", "a forged one does not use up the id"


@given(st.binary(), st.text(max_size=80))
def test_no_signature_is_right_by_chance(body: bytes, signature: str) -> None:
    assert not has_valid_webhook_signature(body, fake.secret, signature)


def test_without_a_secret_every_delivery_is_rejected(control: ControlTables, keeper: DeliveryIntake) -> None:
    with pytest.raises(UntrustedDelivery, match="no secret is set"):
        replace(keeper, settings=GitHubSettings()).take_in(control, opened())


def test_a_repository_without_a_connection_is_ignored(control: ControlTables, keeper: DeliveryIntake) -> None:
    control.github.disconnect(REPOSITORY)
    answer = keeper.take_in(control, opened())
    assert answer.taken == "nothing"
    assert "not connected" in answer.said


def test_github_spells_names_as_it_likes(control: ControlTables, keeper: DeliveryIntake) -> None:
    body, headers = fake.delivery("pull_request", "opened", 3, GUID)
    body, headers = fake.signed("pull_request", body.replace(REPOSITORY.encode(), b"Octo-Org/Hello-World"), GUID)
    assert keeper.take_in(control, sent(body, headers)).taken == "queued"


def test_the_installation_is_kept(control: ControlTables, keeper: DeliveryIntake) -> None:
    keeper.take_in(control, opened())
    (connected,) = control.github.list_all()
    assert connected.installation == 7


def test_a_push_to_the_default_branch_is_searched_for_reverts(control: ControlTables, keeper: DeliveryIntake) -> None:
    assert keeper.take_in(control, sent(*fake.pushed(BASE, HEAD, [], GUID))).taken == "queued"
    ((kind, _, payload),) = waiting(control)
    assert (kind, json.loads(payload)) == (
        "github.reverts",
        {"after": HEAD, "before": BASE, "repository": REPOSITORY},
    )


def test_a_branch_that_is_gone_undoes_nothing(control: ControlTables, keeper: DeliveryIntake) -> None:
    assert keeper.take_in(control, sent(*fake.pushed(BASE, "0" * 40, [], GUID))).taken == "nothing"


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b"\xff", b'{"pull_request": 3}', b'{"repository": {"full_name": "../x"}}', b"[" * 5000],
)
def test_rubbish_with_a_signature_is_named(control: ControlTables, keeper: DeliveryIntake, body: bytes) -> None:
    with pytest.raises(InputError):
        keeper.take_in(control, sent(*fake.signed("pull_request", body, GUID)))
    assert not waiting(control)


@pytest.mark.parametrize("guid", ["", "short", "x" * 65, "a b c d e f g", "../../../etc/passwd"])
def test_a_delivery_needs_an_id(control: ControlTables, keeper: DeliveryIntake, guid: str) -> None:
    with pytest.raises(InputError, match="no id"):
        keeper.take_in(control, opened(guid=guid))


def test_ping_and_unknown_events_ask_for_nothing(control: ControlTables, keeper: DeliveryIntake) -> None:
    assert keeper.take_in(control, sent(*fake.signed("ping", b'{"zen": "x"}', GUID))).said == "pong"
    one = replace(opened(), event="star")
    assert keeper.take_in(control, one).taken == "nothing"


def test_settings_come_from_files_that_the_environment_names(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("0123456789abcdef\n")
    (tmp_path / "token").write_text("ghp_x\n")
    environment = {
        "CUSTODY_GITHUB_SECRET_FILE": str(tmp_path / "secret"),
        "CUSTODY_GITHUB_TOKEN_FILE": str(tmp_path / "token"),
        "CUSTODY_GITHUB_COMMENTS": "yes",
    }
    settings = read_github_settings(environment)
    assert (settings.secret, settings.comments) == (b"0123456789abcdef", True)
    assert settings.key is not None
    assert settings.key.credential(0) == "Bearer ghp_x"
    assert "0123456789abcdef" not in repr(settings)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"CUSTODY_GITHUB_API": "http://api.github.com"}, "https"),
        ({"CUSTODY_GITHUB_API": "file:///etc"}, "https"),
        ({"CUSTODY_GITHUB_SECRET_FILE": "/nowhere/at/all"}, "cannot read the file"),
        ({"CUSTODY_GITHUB_TOKEN_FILE": "/dev/null"}, "is empty"),
        ({"CUSTODY_GITHUB_APP_ID": "1"}, "belong together"),
        ({"CUSTODY_GITHUB_APP_ID": "1", "CUSTODY_GITHUB_TOKEN_FILE": "x"}, "both"),
        ({"CUSTODY_GITHUB_COMMENTS": "perhaps"}, "'yes' or 'no'"),
    ],
)
def test_an_invalid_setting_is_named(environment: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_github_settings(environment)


def test_a_short_secret_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter2")
    with pytest.raises(InputError, match="shorter than 16 bytes"):
        read_github_settings({"CUSTODY_GITHUB_SECRET_FILE": str(tmp_path / "secret")})
