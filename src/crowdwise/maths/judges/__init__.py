"""Maths of judges: errors made together, stacks, stated confidence, biases, prices, answers without one truth."""
