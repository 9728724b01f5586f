"""What all verbs of the command line share: the frame of an answer, and groups of commands.

May touch the terminal.
"""
