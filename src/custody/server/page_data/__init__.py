"""The values that each page shows.

May touch the store and git, through the workspace.
"""
