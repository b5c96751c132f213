"""Workers with Gaussian noise, in several forms."""
