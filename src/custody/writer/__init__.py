"""Document 003 for programs that run a model: tools with ids, results, the report writer, a framework adapter.

May touch the event loop. Asks ``cite.app``, and calls the writer, the tools and the repository of sources that it is
given. A call that does not wait runs in a thread, so that the loop goes on.
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
