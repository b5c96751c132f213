"""Classes by first appearance: votes and gold under new numbers, and everything back again."""

from __future__ import annotations

import numpy as np

from crowdwise.kinds.classes.annotations import Annotations
from crowdwise.kinds.classes.methods.gold import ClassOrder, GoldLabels


def test_names_do_not_decide_the_order():
    votes = Annotations.from_arrays([0, 0, 1], [0, 1, 0], ["c", "a", "c"], classes=["a", "b", "c", "d"])
    gold = GoldLabels(np.array([4, 1], dtype=np.int32), 4)  # the second task is b, which nobody said
    order = ClassOrder.of(votes, gold)
    assert order.rank.tolist() == [1, 2, 0, 3]
    assert order.n_unseen == 1
    new, ranked_gold = order.apply(votes, gold)
    assert new.label.tolist() == [0, 1, 0]
    assert ranked_gold.label.tolist() == [4, 2]
    values = np.arange(4.0)[None]
    np.testing.assert_array_equal(order.invert(values), [[1, 2, 0, 3]])
