"""SQL over edits, traces, replayed states and origins of lines; may touch ``store``."""
