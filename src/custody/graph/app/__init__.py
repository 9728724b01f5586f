"""Use cases of the call graph: learn from records, answer questions, store what was learned.

May touch the store, through the workspace that is passed in.
"""
