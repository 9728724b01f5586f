"""Installation: where the hook is installed, whether it works, and which agents it supports.

May touch the folder of the hook, agents' settings through ``intake.settings``, and the user's home folder.
"""
