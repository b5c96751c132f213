"""The HTTP face: who is asking, what they may, requests into commands and answers into JSON."""
