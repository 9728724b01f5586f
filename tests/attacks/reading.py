"""Marks of read hunks and statements of authorship that the party that profits writes itself."""

from html import unescape
from re import findall

from custody.people.reads import list_change_reads
from custody.workspace.workspace import Workspace
from tests.attacks.authorship import propose_unseen
from tests.attacks.decisions import A1
from tests.attacks.ground import ANA, APP, an_event_of
from tests.attacks.model import WayIn
from tests.attacks.registry import AttackBook
from tests.attacks.target import Target
from tests.builders.service import ALL

BOOK = AttackBook()
REQUESTS_MAX = 60
"""A page that takes long shows its progress first."""


def require_reads(target: Target) -> None:
    """Make the gate judge a trusted agent's change on a base that requires that a second person read it."""
    policy = target.ground.policy()
    policy = policy if "[gate]" in policy else f"{policy}\n[gate]\n"
    policy = policy.replace("[gate]\n", '[gate]\nreads = "on"\n')
    base = target.commit({**target.files, b"custody.toml": policy.encode()}, ref="refs/heads/strict")
    target.change = f"{base}..{target.ground.heads['trusted']}"


def check_still_unread(target: Target) -> None:
    """Under a team policy the change is as unread as before."""
    assert target.verdict is not None
    if target.ground.setting.assurance_min is not None:
        assert "REVIEW-UNREAD" in target.verdict.codes, "the agent's own marks counted as read"


@BOOK.attack(
    A1,
    WayIn.CLI,
    does="marks the hunks of its own change as read, in the name of a reviewer",
    prepare=require_reads,
    check=check_still_unread,
)
def own_hunks_read(target: Target) -> None:
    for name in ("ana", ANA, "github:ana", "olga", "root", "claude-code"):
        target.run("read", target.change, "--all", "--actor", name)


@BOOK.attack(
    A1,
    WayIn.CLI,
    WayIn.FILES,
    does="sends events that a reviewer and the code host read its change",
    prepare=require_reads,
    check=check_still_unread,
)
def typed_reads(target: Target) -> None:
    hunks = [hunk.id for hunk in list_change_reads(Workspace(target.home.path), target.change).hunks]
    base, _, head = target.change.partition("..")
    for number, hunk in enumerate(hunks):
        for via, witness in (("approval", None), ("page", {"kind": "host", "by": "github:ana"})):
            fields = {"person": "github:ana", "hunk": hunk, "path": APP, "head_commit": head, "base": base, "via": via}
            target.record(
                an_event_of("read", id=f"{via}-{number}", **fields, **({} if witness is None else {"witness": witness}))
            )


@BOOK.attack(
    A1,
    WayIn.SERVICE,
    does="marks its hunks as read on the page with the user's token",
    prepare=require_reads,
    check=check_still_unread,
)
def reads_from_the_page(target: Target) -> None:
    held = {"cookie": f"custody_token={ALL}", "accept": "text/html", "origin": "http://127.0.0.1"}
    with target.service() as service:
        page = ""
        for _ in range(REQUESTS_MAX):
            page = service.client.get("/change-people", params={"change": target.change}, headers=held).text
            if 'action="/mark-read"' in page:
                break
        form = page.partition('action="/mark-read"')[2].partition("</form>")[0]
        fields = [(name, unescape(value)) for name, value in findall(r'name="(\w+)" value="([^"]*)"', form)]
        data: dict[str, list[str]] = {}
        for name, value in fields:
            data.setdefault(name, []).append(value)
        service.client.cookies.clear()
        answer = service.client.post("/mark-read", data=data, headers=held, follow_redirects=False)
        assert answer.status_code in (303, 401, 403), answer.text


@BOOK.attack(A1, WayIn.CLI, does="says with custody author that a reviewer wrote its lines", prepare=propose_unseen)
def authored_by_a_reviewer(target: Target) -> None:
    head = target.change.partition("..")[2]
    for name in ("ana", ANA):
        target.run("author", APP, head, "--actor", name, "--message", "typed by hand")


@BOOK.attack(A1, WayIn.CLI, WayIn.HOOK, does="says with custody author that a person wrote its recorded lines")
def authored_over_its_record(target: Target) -> None:
    target.run("author", APP, target.topic, "--actor", "ana")
    target.record(an_event_of("author", person="ana", path=APP, text=target.topic_text, id="typed-author"))
