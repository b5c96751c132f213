"""Standard data sets, read from a local folder; none is distributed with crowdwise, since most state no licence.

>>> from crowdwise import datasets
>>> datasets.card("bluebird").licence
'collection under MIT; none stated for the data itself'
>>> len(datasets.INDEPENDENT), len(datasets.FIRST)
(58, 18)
>>> datasets.family("cf_amt")
'weather'
"""

from .catalogue import CATALOGUE, FAMILIES, FIRST, INDEPENDENT, DatasetCard
from .load import Dataset, card, family, load, names

__all__ = ["CATALOGUE", "FAMILIES", "FIRST", "INDEPENDENT", "Dataset", "DatasetCard", "card", "family", "load", "names"]
