"""custody: the chain of custody for agent-written code."""

__version__ = "0.1.0"
