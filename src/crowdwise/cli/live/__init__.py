"""Commands of live labelling: what to ask next."""
