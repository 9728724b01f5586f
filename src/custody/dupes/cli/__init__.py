"""The verbs of duplicate search.

May touch the terminal. Asks use cases and renders their reports.
"""
