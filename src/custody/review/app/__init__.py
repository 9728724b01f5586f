"""Use cases of a review: gather the card of each hunk, publish a comment.

May touch the workspace, the store, git and what lower packages answer.
"""
