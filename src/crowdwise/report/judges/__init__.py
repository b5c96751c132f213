"""The sections about judges on the page of classes."""
