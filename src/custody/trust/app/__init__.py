"""Use cases of trust: fold the log of decisions, decide, record.

May touch the store and git, through the workspace that it is given.
"""
