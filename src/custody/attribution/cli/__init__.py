"""The verbs of attribution: blame and stats.

May touch the terminal. Asks use cases and renders their reports.
"""
