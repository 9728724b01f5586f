"""Why a line is there: from the line to the call, the prompt, the sources and the agent behind it.

May touch the store and git through its workspace, and uses the answers of other packages.
"""
