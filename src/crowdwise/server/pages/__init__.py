"""Web pages: annotate, check, lead, join, log in."""
