"""Take back what a session, a call or a prompt left alive, and nothing that anybody else wrote.

The modules at the top are pure: they touch ``core`` and value tools of the standard library. ``app`` may touch the
store, git and the work tree through lower packages. Only ``app/apply.py`` writes: files of the work tree, and its
journal.
"""
