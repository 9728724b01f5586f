"""What texts about a change say, compared with recorded runs and the diff."""

from collections.abc import Iterable

from custody.core.wire.time import format_timestamp
from custody.runs.comparison import RUN, compare_statement
from custody.runs.model import CommandRun, ComparedStatement, StatementFacts, TextStatement
from custody.runs.statements import find_statements

COMMAND_CHARACTERS_MAX = 160


def read_statements(text: bytes) -> tuple[TextStatement, ...]:
    """Return the statements of a message or a description, in order."""
    return find_statements(text.decode("utf-8", "replace"))


def compare_statements(statements: Iterable[TextStatement], facts: StatementFacts) -> list[ComparedStatement]:
    """Return what records and the diff say about statements."""
    return [compare_statement(statement, facts) for statement in statements]


def describe_record(compared: ComparedStatement) -> str:
    """Return what records say about a statement, with the command and the time of the run."""
    return compared.record if compared.run is None else compared.record.replace(RUN, _name_run(compared.run))


def _name_run(run: CommandRun) -> str:
    command = " ".join(run.command.split())
    shown = command if len(command) <= COMMAND_CHARACTERS_MAX else f"{command[: COMMAND_CHARACTERS_MAX - 1]}…"
    return f"'{shown}' at {format_timestamp(run.ended_ns)[:16].replace('T', ' ')} UTC"
