"""Input and output: files to votes, votes and results to files; one module per format."""
