"""Commands that run labelling: next, judge, project and serve."""
