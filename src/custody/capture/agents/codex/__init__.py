"""Codex CLI: its hook events, its transcripts, and where it stores them.

May touch the files of this agent that the caller names; it imports no other agent.
"""
