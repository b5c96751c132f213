"""Quality, agreement and flags of the workers of a fit."""
