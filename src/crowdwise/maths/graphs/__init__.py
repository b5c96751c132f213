"""Tasks with links: arrays only."""
