"""The values that each page shows."""
