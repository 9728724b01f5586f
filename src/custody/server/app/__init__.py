"""Use cases that only a service has: projects, tokens, jobs, ingestion, pull requests.

May touch the control database, the store and git, through the workspace of each project.
"""
