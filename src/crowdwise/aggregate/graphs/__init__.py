"""Methods for tasks with links between them."""
