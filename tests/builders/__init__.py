"""Builders with defaults for everything that a test does not specify."""
