"""The verbs of a team's service.

May touch the terminal. Asks use cases and renders their reports.
"""
