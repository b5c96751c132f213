# %% [markdown]
# # Your own method
# A method is a frozen dataclass with its parameters and one function. Registered, it works with `cw.fit`,
# `cw.compare` and everything else that takes a method. This one weighs workers by how much more often they agree with
# the others than by chance, to a power.

# %%
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import crowdwise as cw
from crowdwise.core.card import Card
from crowdwise.core.params import NonNegative
from crowdwise.kinds.classes.methods.voting import VoteAggregator, Weights


@dataclass(frozen=True, kw_only=True)
class AgreementPower(VoteAggregator):
    """Votes weighted by a power of the worker's agreement with the other labels of the same tasks.

    Args:
        power: Exponent; 0 is the majority vote.
    """

    name: ClassVar[str] = "agreement_power"
    power: NonNegative = 2.0

    def weights(self, annotations, gold):
        """Return the weight of each worker."""
        counts = annotations.count_votes()  # [task, class]
        same = counts[annotations.task, annotations.label] - 1
        others = counts.sum(axis=1)[annotations.task] - 1
        n_workers = annotations.n_workers
        total = np.bincount(annotations.worker, others, n_workers)
        agreement = np.bincount(annotations.worker, same, n_workers) / np.maximum(total, 1)
        chance = 1 / annotations.n_classes
        return Weights(np.maximum(agreement - chance, 0) ** self.power)


# %% [markdown]
# ## Register it
# With a card, the method has a name. A package registers its methods with an entry point of the group
# `crowdwise.methods` instead.

# %%
cw.registry.register(
    Card(
        name="agreement_power",
        where=f"{AgreementPower.__module__}:AgreementPower",
        family="voting",
        summary="votes weighted by a power of agreement",
        paper="this notebook",
    )
)
cw.method("agreement_power")

# %% [markdown]
# ## Use it

# %%
crowd = cw.simulate.scenario("class_constant", tasks=500, workers=30, labels=5, seed=1)
votes, truth = crowd.annotations, crowd.truth_table()
for power in (0, 1, 2, 4):
    result = AgreementPower(power=power).fit(votes)
    print(f"power {power}: accuracy {cw.evaluate(result, truth).accuracy:.3f}")
cw.fit(votes, "agreement_power").to_table().select("task", "label", "confidence").head(3)

# %% [markdown]
# ## Parameters
# They are checked against the range that their annotation declares:

# %%
try:
    cw.method("agreement_power", power=-1)
except cw.ParameterError as error:
    print(error)

# %% alt="Accuracy against the power of the weights; it rises from power 0 to 2"
import matplotlib.pyplot as plt

plt.rcParams |= {"figure.figsize": (6, 3), "figure.dpi": 90}
powers = [0, 0.5, 1, 2, 4, 8]
figure, axes = plt.subplots()
axes.plot(
    powers, [cw.evaluate(AgreementPower(power=p).fit(votes), truth).accuracy for p in powers], "o-", color="#0072b2"
)
axes.set(xlabel="power", ylabel="accuracy")
plt.show()
