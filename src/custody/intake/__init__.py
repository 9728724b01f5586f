"""Everything that comes in: imports from agents and other tools, the hook's installation, single events.

May touch the spool and the store, through the workspace that it is given, transcripts, and agents' settings files.
"""
