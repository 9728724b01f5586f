"""Cursor."""
