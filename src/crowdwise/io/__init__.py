"""The border: files and frames to Annotations, Result to files; one module per format."""
