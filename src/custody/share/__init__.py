"""Chains shared between stores: exports, a git remote, a service.

May touch the store and git through the workspace that is passed in, export files that the caller names, and a service
through ``share.remote``.
"""
