"""Methods for same or different."""
