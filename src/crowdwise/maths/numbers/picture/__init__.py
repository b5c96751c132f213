"""What the answers say of the workers, and how far they agree."""
