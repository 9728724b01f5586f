"""Formats of other attribution tools: Agent Trace, git-ai, Entire, opentraces."""
