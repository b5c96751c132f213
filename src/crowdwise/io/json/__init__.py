"""JSON and JSONL files."""
