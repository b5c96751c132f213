"""What every room stands on: votes, vocabularies, ledger, results, errors."""
