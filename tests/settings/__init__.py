"""Realistic settings files."""
