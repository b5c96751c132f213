"""Who is flagged, kind by kind: planted spammers found, honest workers left alone, and what the best test could do."""
