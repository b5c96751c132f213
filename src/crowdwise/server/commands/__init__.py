"""Commands that the write queue accepts: of workers and of leads, each a function of a batch."""
