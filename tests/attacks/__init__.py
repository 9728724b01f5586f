"""Attacks on the gate, carried out with the real command, hook, library, git and service."""
