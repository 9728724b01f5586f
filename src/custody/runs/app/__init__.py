"""Use cases of runs: the runs of sessions, and whether the files of a change were tested.

They may touch the store through the workspace. The pure files above decide, and nothing is stored.
"""
