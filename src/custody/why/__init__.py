"""Why a line is there: from the line to the call, the prompt, the sources and the agent behind it.

May touch the store and git, through the workspace that it is given, and asks the other questions for answers.
"""
