"""The verbs of sharing: push, pull, remote.

May touch the terminal. Asks use cases and renders their reports.
"""
