"""One package per agent, from its own shapes to our views; no agent knows another.

May touch the transcripts and databases that the caller names.
"""
