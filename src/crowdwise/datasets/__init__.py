"""Standard data sets, read from a local folder: crowdwise ships none, since most state no licence.

>>> from crowdwise import datasets
>>> datasets.card("bluebird").licence
'collection under MIT; none stated for the data itself'
>>> len(datasets.INDEPENDENT)
18
"""

from .catalogue import CATALOGUE, INDEPENDENT, Card
from .load import Dataset, card, load, names

__all__ = ["CATALOGUE", "INDEPENDENT", "Card", "Dataset", "card", "load", "names"]
