"""The ways in: imports of what agents and other tools left, the hook's installation, single events."""
