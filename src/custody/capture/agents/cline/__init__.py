"""Cline and Roo Code: their tasks, and where VS Code stores them.

May touch the files of these agents that the caller names; it imports no other agent.
"""
