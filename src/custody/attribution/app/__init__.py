"""Use cases of attribution: gather evidence from store and git, decide, store what can be reused.

May touch the store, git and the rules through its workspace.
"""
