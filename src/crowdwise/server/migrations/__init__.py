"""How the tables came to be: one step a file, each with a way back."""
