"""The verbs of recorded evidence: log, show, records, erase.

May touch the terminal. Asks use cases and renders their reports.
"""
