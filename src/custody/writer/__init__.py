"""Document 003 for programs that run a model: tools with source ids, results, the report writer, a framework adapter.

It may call the writer, the tools and the repository that are passed in. Synchronous calls run in a thread, so that they
do not block the event loop.
"""

from custody.writer.pydantic_ai import agent_writer, citation_instructions, executor_instructions, source_tools
from custody.writer.report import ReportWriter
from custody.writer.tools import generate_structured_result, with_source_ids

__all__ = [
    "ReportWriter",
    "agent_writer",
    "citation_instructions",
    "executor_instructions",
    "generate_structured_result",
    "source_tools",
    "with_source_ids",
]
