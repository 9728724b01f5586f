"""Hostile repositories: each holds a trap that leaves a marker when it is sprung; ``traps`` builds them."""
