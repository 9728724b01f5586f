"""The versions of the readers that make views; another one makes stores make their views again.

They stand apart from the readers, which most questions need not load.
"""

READER_VERSION = 4
"""Of generic events."""
HOOK_VERSION = 5
"""Of hook events and snapshots."""
TRANSCRIPT_VERSION = 3
"""Of transcripts' lines."""
TRACES_VERSION = 2
"""Of other tools' traces."""
REGISTRY_VERSION = 2
"""Of events of the registry of sources."""
