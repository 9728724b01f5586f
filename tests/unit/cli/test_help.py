"""Help is where people look for it, fits on a screen, and shows examples that work; a revision is named one way."""

import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

import click
import pytest

from custody.cli.help import TOPICS, read_help_topic
from custody.cli.main import cli
from custody.cli.verb_table import COMMON_VERBS, SECTIONS
from custody.core.errors import EXIT, EXIT_BUG, InputError, WorldError, exit_status_from_error
from tests.builders.in_process import custody

COLUMNS = 80
LINES_MAX = 60
"""One screen: what a terminal of an editor or a laptop shows without scrolling."""
_EXAMPLE = re.compile(r"^ +(?:[A-Z_]+=\S+ )?(custody(?: .*)?)$", re.MULTILINE)
_SHELL_END = re.compile(r" (?:\|\|?|&&|<|>>?) .*$")


def walk_contexts(context: click.Context) -> Iterator[click.Context]:
    """Yield every command that people can call, with its context."""
    yield context
    command = context.command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from walk_contexts(click.Context(below, info_name=name, parent=context))


@pytest.fixture(scope="module")
def contexts() -> list[click.Context]:
    settings = {**cli.context_settings, "terminal_width": COLUMNS}
    return list(walk_contexts(click.Context(cli, info_name="custody", **settings)))


def examples(text: str) -> list[str]:
    """Return the commands after "Example:" or "Examples:"."""
    _, _, after = re.sub(r"Examples?:\n", "Example:\n", text).partition("Example:\n")
    return [_SHELL_END.sub("", line) for line in _EXAMPLE.findall(after.partition("\n\n")[0])]


def check_words(command: click.Command, words: Sequence[str], parent: click.Context | None = None) -> None:
    """Fail if ``words`` are not a call that the command takes."""
    context = click.Context(command, info_name=command.name, parent=parent)
    values, rest, _ = command.make_parser(context).parse_args(list(words))
    typed = {name: value for name, value in values.items() if isinstance(value, str | tuple | list | bool)}
    for param in command.params:
        name = param.name or ""
        if isinstance(param.type, click.Choice) and name in typed:
            param.type_cast_value(context, typed[name])
        assert not param.required or typed.get(name), f"{name} is missing"
    if isinstance(command, click.Group) and rest:
        below = command.get_command(context, rest[0])
        assert below is not None, f"no command {rest[0]}"
        check_words(below, rest[1:], context)
    else:
        assert not rest, f"too many words: {rest}"


def test_every_help_fits_on_one_screen(contexts: list[click.Context]) -> None:
    assert len(contexts) > 80
    lines = {
        context.command_path: sum(
            1 + (len(line) - 1) // COLUMNS if line else 1 for line in context.get_help().splitlines()
        )
        for context in contexts
    }
    assert {path: count for path, count in lines.items() if count > LINES_MAX} == {}


def test_every_help_starts_with_what_the_command_does(contexts: list[click.Context]) -> None:
    for context in contexts:
        first, _, _ = (context.command.help or "").partition("\n\n")
        word = first.split()[0]
        assert word.istitle(), context.command_path
        assert not re.search("(s|ing|ed)$|^(The|A|An|This|Say)$", word), (
            f"{context.command_path}: {word} is not imperative"
        )
        assert first.endswith("."), context.command_path
        assert "\n" not in first, f"{context.command_path}: more than a line"


def test_every_help_has_examples_that_the_command_takes(contexts: list[click.Context]) -> None:
    for context in contexts:
        found = examples(context.get_help())
        assert found, f"{context.command_path} has no example"
        assert all(line.startswith("custody") for line in found)
        for line in found:
            check_words(cli, shlex.split(line)[1:])


def test_a_wrong_example_is_seen() -> None:
    assert examples(
        "x\n\n  Examples:\n    A=1 custody log -n 2 | jq .\n    custody why x:1\n\nOptions:\n  custody"
    ) == [
        "custody log -n 2",
        "custody why x:1",
    ]
    check_words(cli, ["log", "-n", "2"])
    with pytest.raises(click.NoSuchOption):
        check_words(cli, ["log", "--nothing"])
    for words in (["why"], ["trust", "nothing"], ["verify", "a", "b", "c"]):
        with pytest.raises(AssertionError):
            check_words(cli, words)
    with pytest.raises(click.BadParameter):
        check_words(cli, ["--color", "blue"])


def test_the_overview_is_short(tmp_path: Path) -> None:
    assert len(custody(tmp_path, "--help", COLUMNS="80").out.splitlines()) <= 40


def test_the_longest_helps_fit_a_screen(tmp_path: Path) -> None:
    for verb in (["gate"], ["trust", "record"]):
        assert len(custody(tmp_path, *verb, "--help", COLUMNS="80").out.splitlines()) <= 40


def test_the_overview_lists_common_verbs_and_names_the_full_list(tmp_path: Path) -> None:
    overview = custody(tmp_path, "--help").out
    listed = set(re.findall(r"^  ([a-z]+) +[A-Z]", overview, re.MULTILINE))
    assert listed == COMMON_VERBS
    assert "'custody help' lists all commands and topics" in overview


def test_help_alone_lists_every_command_and_topic(tmp_path: Path) -> None:
    ran = custody(tmp_path, "help")
    listed = re.findall(r"^  ([a-z]+) +[A-Z]", ran.out, re.MULTILINE)
    assert listed == [*(verb for verbs in SECTIONS.values() for verb in verbs), *TOPICS]
    assert len(ran.out.splitlines()) <= LINES_MAX


def test_help_of_a_verb_is_its_own_help(tmp_path: Path) -> None:
    assert custody(tmp_path, "help", "blame").out == custody(tmp_path, "blame", "--help").out
    assert custody(tmp_path, "help", "trust", "approve").out == custody(tmp_path, "trust", "approve", "--help").out


def test_a_topic_has_a_file_and_a_file_is_a_topic() -> None:
    names = {Path(file.name).stem for file in files("custody.cli").joinpath("help_topics").iterdir()}
    assert names == set(TOPICS)
    assert not names & {verb for verbs in SECTIONS.values() for verb in verbs}


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_is_one_screen_that_starts_with_its_summary(topic: str, tmp_path: Path) -> None:
    ran = custody(tmp_path, "help", topic)
    assert ran.status == 0
    assert ran.out == read_help_topic(topic) + "\n"
    lines = ran.out.splitlines()
    assert lines[0] == TOPICS[topic]
    assert len(lines) <= LINES_MAX
    assert [line for line in lines if len(line) > COLUMNS - 1] == []
    assert examples(ran.out)
    for line in examples(ran.out):
        check_words(cli, shlex.split(line)[1:])


def test_the_topic_of_exit_statuses_names_every_status() -> None:
    named = {int(status) for status in re.findall(r"^  (\d+) ", read_help_topic("exit"), re.MULTILINE)}
    errors = {exit_status_from_error(error) for error in (InputError("x"), WorldError("x"))}
    assert named == {*EXIT.values(), *errors, EXIT_BUG, 130}


def test_help_of_an_unknown_name_suggests_the_nearest(tmp_path: Path) -> None:
    ran = custody(tmp_path, "help", "certanty")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == "error: unknown command or topic 'certanty'\nhint: did you mean 'certainty'?\n"
    assert "did you mean 'blame'?" in custody(tmp_path, "help", "blam").err
    below = custody(tmp_path, "help", "trust", "aprove")
    assert below.err == "error: unknown command 'trust aprove'\nhint: did you mean 'approve'?\n"
    none = custody(tmp_path, "help", "trust", "xyzzy")
    assert none.err == "error: unknown command 'trust xyzzy'\nhint: run 'custody help trust'\n"


@pytest.mark.parametrize("verb", [("blame", "a.py"), ("why", "a.py:1"), ("stats", ".")])
def test_a_revision_comes_after_what_a_verb_is_about_or_with_its_alias(repository: Path, verb: tuple[str, ...]) -> None:
    named, alias = custody(repository, *verb, "HEAD", "--json"), custody(repository, *verb, "--rev", "HEAD", "--json")
    assert (named.status, named.out) == (0, alias.out)
    both = custody(repository, *verb, "HEAD", "--rev", "HEAD")
    assert both.status == 2
    assert both.err == "error: REV and --rev are mutually exclusive\nhint: leave out --rev\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:

    (tmp_path / "a.py").write_text("x = 1\n")
    for command in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "x")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path
