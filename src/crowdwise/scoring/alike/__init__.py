"""Methods side by side for any kind of answers that has a distance."""
