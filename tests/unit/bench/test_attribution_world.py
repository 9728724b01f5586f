import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from bench.attribution import command
from bench.attribution.answers import Oracle
from bench.attribution.claude import Event, edit_response, structured_patch
from bench.attribution.histories import histories
from bench.attribution.run import Way, play, played
from bench.attribution.scenario import Scenario
from bench.attribution.scenarios import SCENARIOS
from bench.attribution.score import tally_of
from bench.attribution.telling import Silent, Told, transcript_message
from bench.attribution.truth import EITHER, PERSON
from bench.attribution.versions import from_repository, from_templates
from bench.attribution.world import World, a_world
from bench.bars import BenchError


@dataclass
class Heard(Silent):
    events: list[Event] = field(default_factory=list)

    def tell(self, event: Event, told: Told) -> None:
        self.events.append(event)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return a_world(tmp_path, Heard())


def test_what_the_agent_says_is_what_it_did_on_disk(world: World) -> None:
    world.person.write("a.py", "one = 1\ntwo = 2\n")
    world.agent().edit("a.py", "one = 1", "one = 1\nextra = 3")
    assert isinstance(world.teller, Heard)
    start, prompt, before, after = world.teller.events
    assert [start["hook_event_name"], prompt["hook_event_name"]] == ["SessionStart", "UserPromptSubmit"]
    assert before["tool_input"]["new_string"] == "one = 1\nextra = 3"
    response = after["tool_response"]
    assert (
        response["originalFile"].replace(response["oldString"], response["newString"]) == world.path("a.py").read_text()
    )
    assert before["tool_use_id"] == after["tool_use_id"]


def test_a_story_that_describes_something_else_than_it_does_is_refused(world: World) -> None:
    world.person.write("a.py", "one = 1\n")
    world.path("a.py").write_text("other = 1\n")
    with pytest.raises(BenchError, match="not what was said"):
        world.check()


def test_lines_that_git_moved_about_are_recognised_by_their_text(world: World) -> None:
    world.person.write("a.py", "a persons line\n")
    world.commit()
    agent = world.agent()
    agent.edit("a.py", "a persons line", "a persons line\nan agents line")
    world.commit()
    world.git("revert", "--no-edit", "HEAD")
    world.git("revert", "--no-edit", "HEAD")
    world.settle()
    assert [line.who for line in world.pages["a.py"].lines] == [PERSON, agent.who]


def test_the_same_text_of_two_authors_must_be_told_apart(world: World) -> None:
    world.person.write("a.py", "the same line\n")
    world.agent().write("b.py", "the same line\n")
    with pytest.raises(BenchError, match="2 authors"):
        world.settle()


def test_a_commit_made_by_an_agent_is_reported(world: World) -> None:
    world.person.write("a.py", "one = 1\n")
    sha = world.agent().commit()
    assert isinstance(world.teller, Heard)
    assert world.teller.events[-1]["tool_response"]["gitOperation"]["commit"]["sha"] == sha[:7]
    assert world.commits[sha].keys() == {"a.py"}


def test_a_patch_has_its_context() -> None:
    (hunk,) = structured_patch("a\nb\nc\n", "a\nx\nc\n")
    assert hunk["lines"] == [" a", "-b", "+x", " c", " "]
    assert edit_response("/f", "a\nb\n", "b", "x")["structuredPatch"][0]["newStart"] == 1


def test_a_transcript_has_the_calls_and_their_results() -> None:
    event = {"hook_event_name": "PreToolUse", "tool_use_id": "t", "tool_name": "Edit", "tool_input": {}}
    message = transcript_message(event, "m")
    assert message is not None and message["message"]["content"][0]["type"] == "tool_use"
    assert transcript_message({"hook_event_name": "SessionStart"}, "m") is None


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_story_does_what_it_says_and_its_truth_is_exact(name: str) -> None:
    (result,) = play(SCENARIOS[name], Way("silent", (Oracle(),)))
    assert result.failure == ""
    assert result.head and result.tree
    assert tally_of(result.lines).exact


def test_stories_without_an_agents_lines_are_few_and_marked(tmp_path: Path) -> None:
    unmarked = {name for name, one in SCENARIOS.items() if not one.unrecorded}
    world = played(SCENARIOS["bots-only"], Silent(), tmp_path)
    assert "bots-only" not in unmarked
    assert {line.who for page in world.pages.values() for line in page.lines} == {PERSON}


def test_a_history_by_chance_is_the_same_again_and_its_truth_is_exact() -> None:
    (story,) = histories(1, 7, from_templates)
    first, second = (next(play(story, Way("silent", (Oracle(),)))) for _ in range(2))
    assert first.failure == "" and first == second
    assert tally_of(first.lines).exact and tally_of(first.lines).count(*tally_of(first.lines).outcomes) > 100


def test_versions_come_from_a_repository(world: World) -> None:
    texts = [f"line {n}\nend\n" for n in range(4)]
    for text in texts:
        world.person.write("a.py", text)
        world.commit()
    assert from_repository(world.folder / ".git")(Random(1), 4) == ("a.py", texts)
    with pytest.raises(BenchError, match="9 versions"):
        from_repository(world.folder / ".git")(Random(1), 9)


def test_a_story_that_cannot_be_played_is_reported_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(world: World) -> None:
        raise BenchError("no such thing")

    monkeypatch.setattr(command, "SCENARIOS", {"broken": Scenario("broken", "it breaks", broken)})
    out = io.StringIO()
    assert command.main(["--answerer", "none"], out=out, err=io.StringIO()) == 1
    assert "no such thing" in out.getvalue()


def test_the_command_prints_tables_and_json() -> None:
    out = io.StringIO()
    words = ["--answerer", "oracle", "--scenarios", "plain-edit,bots-only"]
    assert command.main(words, out=out, err=io.StringIO()) == 0
    assert "2 of 2" in out.getvalue()
    out = io.StringIO()
    assert command.main([*words, "--json"], out=out, err=io.StringIO()) == 0
    (group,) = json.loads(out.getvalue())["groups"]
    assert (group["total"]["precision"], group["total"]["recall"], group["unrecorded_given"]) == (1.0, 1.0, 0)


def test_an_unanswered_story_is_listed_with_its_lines() -> None:
    out = io.StringIO()
    command.main(["--answerer", "none", "--scenarios", "plain-edit"], out=out, err=io.StringIO())
    assert "committed shop.py:27 missed" in out.getvalue()


def test_an_unknown_story_is_named_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--scenarios", "plain-edits"])
    assert "did you mean 'plain-edit'" in capsys.readouterr().err


def test_marks_of_a_conflict_are_nobodys(world: World) -> None:
    world.path("a.py").write_text("<<<<<<< HEAD\n=======\n>>>>>>> topic\n")
    world.take_conflict("a.py")
    assert {line.who for line in world.pages["a.py"].lines} == {EITHER}
