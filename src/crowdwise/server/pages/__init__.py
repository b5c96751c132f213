"""The pages of annotators and leads."""
