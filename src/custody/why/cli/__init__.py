"""The verb ``why``."""
