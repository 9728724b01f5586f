"""The use cases of people's statements: record them, list them, and rate how far each can be believed.

May touch the store and git through the workspace.
"""
