"""Report page of classes."""
