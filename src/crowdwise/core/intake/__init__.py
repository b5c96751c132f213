"""From columns of the user's values to codes."""
