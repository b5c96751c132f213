"""Logs of LLM judges: facts about verdicts, and pairwise comparisons."""
