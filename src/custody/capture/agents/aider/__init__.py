"""Aider: the chat history in a repository.

May touch the files of this agent that the caller names; it imports no other agent.
"""
