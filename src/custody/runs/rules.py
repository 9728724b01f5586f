"""The commands of a project that the built-in tables do not know."""

from msgspec import Struct

from custody.core.errors import RulesError

COMMANDS_MAX = 200
PASSING_ALWAYS = frozenset(("true", ":", "echo", "exit"))
COMMAND_FIELDS = ("test_commands", "build_commands", "lint_commands", "types_commands", "format_commands")


class ReviewRules(Struct, frozen=True, kw_only=True):
    """What a review shows: which commands of a project test, build, lint, check types or format, and whose prompts.

    A command is named by its first words.
    """

    test_commands: tuple[str, ...] = ()
    """Commands that run tests, such as `./ci/test.sh`; unknown commands count as tests only if they are listed here."""
    build_commands: tuple[str, ...] = ()
    """Commands that build."""
    lint_commands: tuple[str, ...] = ()
    """Commands that lint."""
    types_commands: tuple[str, ...] = ()
    """Commands that check types."""
    format_commands: tuple[str, ...] = ()
    """Commands that format."""
    publish_prompts: bool = False
    """Whether `custody push` also sends the first 300 characters of the prompts behind commits, for pull requests."""

    def __post_init__(self) -> None:
        for name in COMMAND_FIELDS:
            commands = getattr(self, name)
            if len(commands) > COMMANDS_MAX:
                raise RulesError(f"review.{name}", f"has {len(commands)} commands; the most is {COMMANDS_MAX}")
            if any(not command.split() for command in commands):
                raise RulesError(f"review.{name}", "has an empty command")
            if any(command.split()[0] in PASSING_ALWAYS for command in commands):
                raise RulesError(f"review.{name}", "has a command that always passes")
