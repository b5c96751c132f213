"""The registry of methods, under its public name; its home is aggregate/registry.py."""

from .aggregate.registry import DEFAULT, LEARNERS, METHODS, Card, card, get, learner, method, names

__all__ = ["DEFAULT", "LEARNERS", "METHODS", "Card", "card", "get", "learner", "method", "names"]
