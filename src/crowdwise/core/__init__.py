"""Shared foundations of all packages: votes, vocabularies, ledger, results, errors."""
