"""Training of classifiers on features and raw votes."""
