"""Kinds of answers, one package each."""
