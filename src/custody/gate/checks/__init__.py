"""One file per check; like all of the gate, they may touch nothing outside."""
