"""The verbs over recorded evidence."""
