"""The command about judges."""
