"""Fairness between groups of tasks and of raters: gaps, tests, and linear programmes that close them; arrays only."""
