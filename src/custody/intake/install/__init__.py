"""Installation: the site of the hook, its health, and the agents that it knows."""
