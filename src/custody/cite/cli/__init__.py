"""The commands of citations: they call use cases and print their reports. May touch the terminal."""
