"""The registry of methods, under its public name; its home is aggregate/registry.py."""

from .aggregate.registry import CARDS, DEFAULT, LEARNERS, METHODS, Card, card, get, learner, method, names, register

__all__ = ["CARDS", "DEFAULT", "LEARNERS", "METHODS", "Card", "card", "get", "learner", "method", "names", "register"]
