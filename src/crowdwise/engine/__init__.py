"""How the maths is run: loops, restarts, shards. Knows no method."""
