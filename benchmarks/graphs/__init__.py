"""Tasks with links: what neighbours are worth."""
