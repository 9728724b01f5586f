"""The commands of a project that the built-in tables do not know."""

from msgspec import Struct

from custody.core.errors import RulesError

COMMANDS_MAX = 200


class ReviewRules(Struct, frozen=True, kw_only=True):
    """Which commands of a project test, build, lint, check types or format; each is the first words of a command."""

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

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            commands = getattr(self, name)
            if len(commands) > COMMANDS_MAX:
                raise RulesError(f"review.{name}", f"has {len(commands)} commands; the most is {COMMANDS_MAX}")
            if any(not command.split() for command in commands):
                raise RulesError(f"review.{name}", "has an empty command")
