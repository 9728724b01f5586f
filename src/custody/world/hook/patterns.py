"""Placeholder while the real rules are being written."""
