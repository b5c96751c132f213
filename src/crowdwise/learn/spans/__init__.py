"""Learning from spans: tokens with features in sentences, a tag for each."""
