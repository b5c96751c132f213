"""Is it fair: gaps between groups of tasks and of raters with intervals, tests, and labels or loads that close them."""
