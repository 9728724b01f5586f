"""Use cases of the gate: gather evidence about a change, decide, store the verdict.

May touch the store and git, through the workspace, and calls the use cases of the other questions.
"""
