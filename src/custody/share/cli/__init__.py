"""The verbs that share."""
