"""Builders that supply everything a test does not talk about."""
