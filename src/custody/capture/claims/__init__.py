"""Formats of other attribution tools: Agent Trace, git-ai, Entire, opentraces.

Pure: it may import ``core``, msgspec and the standard library.
"""
