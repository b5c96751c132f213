"""The peers' own test suites, run on crowdwise.compat with their import names rewritten."""
