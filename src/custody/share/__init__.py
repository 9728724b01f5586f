"""Chains shared between stores: exports, a git remote, a service."""
