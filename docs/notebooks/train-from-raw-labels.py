# %% [markdown]
# # Train from raw labels
# A network can be trained on the labels of every worker instead of on a vote: it learns the classes and the workers'
# errors together.

# %%
import numpy as np

import crowdwise as cw

rng = np.random.default_rng(1)
centre = rng.normal(size=(3, 8))
truth = rng.integers(3, size=900)
features = centre[truth] + rng.normal(scale=0.9, size=(900, 8))
train, test = np.arange(600), np.arange(600, 900)

# %% [markdown]
# Twenty workers label the first 600 examples, two labels each. Half of them confuse class 0 with class 1.

# %%
task = np.repeat(train, 2)
worker = np.concatenate([rng.choice(20, 2, replace=False) for _ in train])
label = truth[task].copy()
swaps = (worker < 10) & (label < 2) & (rng.random(len(task)) < 0.6)
label[swaps] = 1 - label[swaps]
votes = cw.Annotations.from_arrays(task, worker, label, tasks=train, classes=range(3))
votes

# %% [markdown]
# ## Two ways
# Train on the majority vote, or on the raw labels.

# %%
crowd = cw.learn.CrowdClassifier("linear", "agg_net", epochs=30, seed=0).fit(features[train], votes)
vote = cw.MajorityVote().fit(votes)
single = cw.Annotations.from_arrays(train, ["vote"] * len(train), vote.to_table()["label"].to_numpy(), classes=range(3))
plain = cw.learn.CrowdClassifier("linear", "vanilla", epochs=30, seed=0).fit(features[train], single)
for name, model in (("vote", plain), ("raw labels", crowd)):
    print(f"{name:12}{(model.predict(features[test]) == truth[test]).mean():.3f}")

# %% [markdown]
# The model of the workers is part of the result:

# %%
crowd.result_.worker_table().head(4)
