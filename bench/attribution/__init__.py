"""How well lines are given to who wrote them: built histories with known truth, and what a tool says of each line."""
