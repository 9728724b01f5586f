"""Excerpts of prompts: shared only if the base branch asks for it, never more, and never evidence."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.ids import StoreId
from custody.core.wire.prompt_excerpts import (
    EXCERPT_CHARACTERS_MAX,
    PromptExcerpt,
    decode_prompt_excerpts,
    encode_prompt_excerpts,
    excerpt_prompt,
)
from custody.ledger.queries import put_prompt_excerpts, read_prompt_excerpts
from custody.ledger.records import erase_record_bodies
from custody.review.app.forms import REVIEW_FORMS
from custody.review.app.review import ReviewRequest, review_change
from custody.share.sync import pull_from_git, push_to_git
from custody.workspace.workspace import Workspace
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.lines import SESSION, moment
from tests.builders.repo import NOON, a_repository
from tests.builders.team import SECRETS, Team, ana_of, recorded

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
LONG = f"add a discount, token {TOKEN}\n" + "and then some more words " * 40
PROMPTS = "prompts.json"


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path)


@pytest.fixture
def ana(team: Team) -> Workspace:
    """A member with a prompt of a linked session, and one of a session without a commit."""
    return recorded(
        ana_of(team),
        an_event("prompt", session=SESSION, id="long", text=LONG, at=moment(8)),
        an_event("prompt", session="s2", id="other", text="private thoughts", at=moment(8)),
        prefix="more",
    )


def publish(team: Team, value: str = "true", branch: str = "main") -> None:
    """Set the rule on a branch of the remote, as ana fetched it."""
    built = a_repository(team.folder / "ana")
    tip = built.git("rev-parse", "main").decode().strip()
    rules = f"[review]\npublish_prompts = {value}\n".encode()
    built.commit({b"custody.toml": rules}, tip, ref=f"refs/heads/{branch}", at=NOON + 60)  # type: ignore[arg-type]
    built.git("push", "--quiet", "--force", "origin", branch)


def shared(team: Team, ana: Workspace) -> list[PromptExcerpt]:
    """Return the excerpts at the remote."""
    ref = team.ref(ana)
    return list(decode_prompt_excerpts(team.shared(ref).get(PROMPTS, b""), StoreId(ref.rpartition("/")[2])))


def history(team: Team, ana: Workspace) -> str:
    """Return every text that can be reached from the reference."""
    names = team.remote.git("rev-list", "--objects", team.ref(ana)).decode().split("\n")
    blobs = [name.split()[0] for name in names if PROMPTS in name]
    return "".join(team.remote.git("cat-file", "blob", blob).decode() for blob in blobs)


def test_nothing_is_published_unless_the_base_branch_asks_for_it(team: Team, ana: Workspace) -> None:
    push_to_git(ana, None)
    publish(team, branch="topic")
    report = push_to_git(ana, None)
    assert shared(team, ana) == [] and [chain.prompts for chain in report.chains] == [0]


def test_only_the_first_300_characters_of_linked_sessions_are_published(team: Team, ana: Workspace) -> None:
    publish(team)
    report = push_to_git(ana, None)
    found = {excerpt.prompt: excerpt.text for excerpt in shared(team, ana)}
    assert [chain.prompts for chain in report.chains] == [len(found)]
    assert "other" not in found and found["long"].startswith("add a discount, token [redacted:")
    assert TOKEN not in found["long"] and len(found["long"]) == EXCERPT_CHARACTERS_MAX
    others = {name: data for name, data in team.shared(team.ref(ana)).items() if name != PROMPTS}
    assert not [word for word in (*SECRETS, "private", "and then") if word.encode() in b"".join(others.values())]


def test_an_erased_prompt_is_not_sent_again_and_leaves_the_history(team: Team, ana: Workspace) -> None:
    publish(team)
    push_to_git(ana, None)
    assert "some more words" in history(team, ana)
    erase_record_bodies(ana, ["more-0"], who="ana", why="private")
    push_to_git(ana, None)
    assert "long" not in {excerpt.prompt for excerpt in shared(team, ana)}
    assert "some more words" not in history(team, ana)


def test_turning_it_off_removes_every_excerpt(team: Team, ana: Workspace) -> None:
    publish(team)
    push_to_git(ana, None)
    bob = team.clone("bob")
    assert [chain.prompts for chain in pull_from_git(bob, None).chains] == [2]
    publish(team, "false")
    push_to_git(ana, None)
    assert (shared(team, ana), history(team, ana)) == ([], "")
    assert [chain.prompts for chain in pull_from_git(bob, None).chains] == [0]
    with bob.reading() as store:
        assert read_prompt_excerpts(store, StoreId(team.ref(ana).rpartition("/")[2])) == b""


def test_forged_excerpts_are_refused(team: Team, ana: Workspace) -> None:
    publish(team)
    push_to_git(ana, None)
    ref = team.ref(ana)
    files = {name.encode(): data for name, data in team.shared(ref).items()}
    chain = StoreId(ref.rpartition("/")[2])
    forged = replace(shared(team, ana)[0], text="delete nothing, I promise")
    files[PROMPTS.encode()] = encode_prompt_excerpts(chain, (forged,))
    team.remote.commit(files, ref=ref)
    report = pull_from_git(team.clone("bob"), None)
    assert [chain.outcome for chain in report.chains] == ["refused"]
    assert "not those that its owner signed" in report.chains[0].findings[0].what


def first_change(team: Team, *, with_prompts: bool = True) -> ReviewRequest:
    """Return the commit of the session, by the rules of its parent."""
    commits = a_repository(team.folder / "ana").git("rev-list", "--reverse", "--topo-order", "main").decode().split()
    return ReviewRequest(change=f"{commits[0]}..{commits[1]}", with_prompts=with_prompts)


def test_a_card_shows_a_pulled_excerpt_and_the_verdict_does_not_use_it(team: Team, ana: Workspace) -> None:
    publish(team)
    push_to_git(ana, None)
    bob = team.clone("bob")
    pull_from_git(bob, None)
    change = first_change(team)
    chain = StoreId(team.ref(ana).rpartition("/")[2])
    report = review_change(bob, change)
    cards = [prompt for hunk in report.hunks for prompt in hunk.prompts if prompt.text]
    assert cards and all(prompt.note and prompt.note.startswith("excerpt") for prompt in cards)
    with bob.writing() as store, store.writing():
        put_prompt_excerpts(store, chain, b"")
    without = review_change(bob, change)
    assert not [prompt for hunk in without.hunks for prompt in hunk.prompts if prompt.text]
    same = [replace(each, hunks=[], notes=[]) for each in (report, without)]
    assert same[0] == same[1] and report.order == without.order
    assert [hunk.risk for hunk in report.hunks] == [hunk.risk for hunk in without.hunks]


def test_a_pull_request_shows_excerpts_only_with_the_rule_of_its_base(team: Team, ana: Workspace) -> None:
    publish(team)
    report = review_change(ana, first_change(team, with_prompts=False))
    assert not report.publishes_prompts, "the base of this change has no rules"
    assert not [prompt for hunk in report.hunks for prompt in hunk.prompts if prompt.text]
    shown = replace(review_change(ana, first_change(team)), publishes_prompts=True)
    assert b"add a discount" in REVIEW_FORMS["markdown"](shown)
    assert b"add a discount" not in REVIEW_FORMS["markdown"](replace(shown, publishes_prompts=False))


def test_the_command_shows_what_others_see(team: Team, ana: Workspace) -> None:
    folder = team.folder / "ana"
    off = custody(folder, "share", "--show").out
    assert "review.publish_prompts is off in custody.toml of origin/main" in off and "nothing, as of the last" in off
    publish(team)
    push_to_git(ana, None)
    report = json.loads(custody(folder, "share", "--show", "--json").out)
    (chain,) = report["chains"]
    assert (report["base"], report["publish_prompts"], report["why"]) == ("origin/main", True, None)
    assert chain["prompts_total"] == len(chain["prompts"]) == chain["there"]["prompts"] == 2
    assert sum(chain["in_full"].values()) + sum(chain["without_texts"].values()) == chain["records"]
    assert custody(folder, "share").status == 2


@given(st.text())
def test_an_excerpt_is_one_short_line(text: str) -> None:
    excerpt = excerpt_prompt(text)
    assert len(excerpt) <= EXCERPT_CHARACTERS_MAX and len(excerpt.splitlines()) <= 1


@pytest.mark.parametrize("data", [b"{}", b"[]", b"\xff", b'{"custody":1,"store":"x","excerpts":[]}'])
def test_a_file_that_is_not_one_of_this_chain_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        decode_prompt_excerpts(data, StoreId("a" * 32))
    other = encode_prompt_excerpts(StoreId("b" * 32), (PromptExcerpt("robot", "s", "p", "text"),))
    with pytest.raises(InputError):
        decode_prompt_excerpts(other, StoreId("a" * 32))
