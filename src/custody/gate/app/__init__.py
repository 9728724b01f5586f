"""Use cases of the gate: gather evidence about a change, decide, store the verdict.

May touch the store and git, through the workspace that it is given, and asks the other questions for answers.
"""
