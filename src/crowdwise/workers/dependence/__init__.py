"""Who copies, colludes or follows: what independent workers would not say."""
