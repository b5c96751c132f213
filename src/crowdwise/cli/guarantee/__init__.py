"""Commands with statistical guarantees: estimate, accept and fairness."""
