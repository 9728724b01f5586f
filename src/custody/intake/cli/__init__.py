"""The verbs of setup and recording: init, doctor, record, uninstall.

May touch the terminal. Calls use cases and renders their reports.
"""
