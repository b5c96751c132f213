"""`crowdkit.aggregation`: classes, pairs, texts, embeddings and segmentations with the same constructors, methods,
attributes and pandas types.

>>> import pandas as pd
>>> votes = pd.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": ["x", "x", "y"]})
>>> MajorityVote().fit_predict(votes).to_dict()
{1: 'x'}
"""

from __future__ import annotations

from . import base, utils
from .binary_relevance import BinaryRelevance
from .dawid_skene import DawidSkene, OneCoinDawidSkene
from .embeddings import HRRASA, RASA, ClosestToAverage
from .glad import GLAD
from .kos import KOS
from .mace import MACE
from .majority_vote import MajorityVote
from .mmsr import MMSR
from .pairwise import BradleyTerry, NoisyBradleyTerry
from .segmentation import SegmentationEM, SegmentationMajorityVote, SegmentationRASA
from .skills import GoldMajorityVote, Wawa, ZeroBasedSkill
from .texts import ROVER, TextHRRASA, TextRASA

__all__ = [
    "GLAD",
    "HRRASA",
    "KOS",
    "MACE",
    "MMSR",
    "RASA",
    "ROVER",
    "BinaryRelevance",
    "BradleyTerry",
    "ClosestToAverage",
    "DawidSkene",
    "GoldMajorityVote",
    "MajorityVote",
    "NoisyBradleyTerry",
    "OneCoinDawidSkene",
    "SegmentationEM",
    "SegmentationMajorityVote",
    "SegmentationRASA",
    "TextHRRASA",
    "TextRASA",
    "Wawa",
    "ZeroBasedSkill",
    "base",
    "utils",
]
