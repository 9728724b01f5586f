"""Why a line is there: from the line to the call, the prompt, the sources and the agent behind it."""
