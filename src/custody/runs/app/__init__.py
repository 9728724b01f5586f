"""Use cases of runs: the runs of sessions, and whether the files of a change were tested.

They ask the store through the workspace, decide with the pure files above, and store nothing.
"""
