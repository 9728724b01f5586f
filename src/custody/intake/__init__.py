"""Input: imports from agents and other tools, installation of the hook, single events.

May touch the spool and the store through its workspace, transcripts, and agents' settings files.
"""
