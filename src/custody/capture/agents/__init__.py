"""One package per agent, from its own shapes to our views; no agent knows another."""
