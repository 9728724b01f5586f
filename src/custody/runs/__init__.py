"""Which commands ran, with which result, and whether tests passed after the last edit.

The files at the top are pure: they may import ``core``, the shell parser and the standard library's value tools; they
import no other question.
"""

from typing import TYPE_CHECKING

from custody.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from custody.runs.model import (
        ChangedFileFacts,
        CommandKind,
        CommandRun,
        ComparedStatement,
        FileUnderTest,
        RunCoverage,
        RunResult,
        RunScope,
        StatementFacts,
        StatementKind,
        StatementState,
        TestEvidence,
        TestState,
        TextStatement,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "model": "ChangedFileFacts CommandKind CommandRun ComparedStatement FileUnderTest RunCoverage RunResult"
            " RunScope TextStatement StatementFacts StatementKind StatementState TestEvidence TestState",
        },
    )

__all__ = [
    "ChangedFileFacts",
    "CommandKind",
    "CommandRun",
    "ComparedStatement",
    "FileUnderTest",
    "RunCoverage",
    "RunResult",
    "RunScope",
    "StatementFacts",
    "StatementKind",
    "StatementState",
    "TestEvidence",
    "TestState",
    "TextStatement",
]
