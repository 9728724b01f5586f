"""The commands of a team's service.

May touch the terminal. Calls use cases and renders their reports.
"""
