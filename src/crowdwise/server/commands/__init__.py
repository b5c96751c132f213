"""What may be asked of the desk: commands of workers and of leads, each a function of a shift."""
