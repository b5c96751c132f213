"""aggregate over votes in many files, or in more than memory."""
