"""From annotations to labels: one module per method."""
