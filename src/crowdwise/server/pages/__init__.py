"""Pages for people: annotate, lead, join, log in."""
