"""The verbs that set capture up and look after it."""
