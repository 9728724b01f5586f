"""Document 003 for programs that run a model: tools with ids, results, the report writer, an agent framework's adapter.

May touch ``custody.app`` and the event loop, and calls what it is handed: a writer, a tool, a repository of sources. A
call that does not wait runs in a thread, so that the loop goes on.
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
