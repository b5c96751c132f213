"""What runs in a tool's own environment: `write` makes its exports, `accept` reads what crowdwise wrote for it.

These modules import the standard library, `crowd` and the tool, and nothing of crowdwise.
"""
