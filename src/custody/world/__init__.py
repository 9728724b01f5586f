"""The only floor that touches anything outside: one sub-room per door, and no door opens another."""
