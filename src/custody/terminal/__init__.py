"""What every verb of the command line shares: the frame of an answer, and verbs that have parts."""
