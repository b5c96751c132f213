# %% [markdown]
# # Labels: from a CSV to a decision
# A file with one row per label goes in; a list of labels that can be used, and the rest, come out. The file is
# simulated, so that the decision can be compared with the truth at the end.

# %%
import crowdwise as cw

crowd = cw.simulate.scenario("heavy_tailed", tasks=800, workers=40, labels=5, classes=3, seed=7)
crowd.annotations.to_frame().write_csv("votes.csv")
votes = cw.read("votes.csv")
votes

# %% [markdown]
# ## Fit
# `cw.fit` takes the default method. It says how sure it is of every label.

# %%
result = cw.fit(votes)
result.to_table().select("task", "label", "confidence", "n_labels").head(4)

# %% alt="Histogram of the confidence of 800 labels; most lie above 0.8"
import matplotlib.pyplot as plt

plt.rcParams |= {"figure.figsize": (6, 3), "figure.dpi": 90}
figure, axes = plt.subplots()
axes.hist(result.to_table()["confidence"], bins=20, color="#0072b2")
axes.set(xlabel="confidence", ylabel="labels")
plt.show()

# %% [markdown]
# ## Check a sample
# The labels alone do not show whether the crowd is right. 200 tasks are drawn at random and labelled by an expert;
# here the simulated truth stands in for the expert.

# %%
truth = dict(crowd.truth_table().iter_rows())
sample = cw.draw(votes, 200, seed=1)
gold = {task: truth[task] for task in sample.tasks}
accuracy = cw.estimate(result, gold=gold, metric="accuracy", sampling=sample)
print(f"{accuracy.value:.1%} of the labels are right ({accuracy.low:.1%} to {accuracy.high:.1%})")

# %% [markdown]
# ## Decide
# Labels of which at most 5 % are wrong, with a guarantee:

# %%
accepted = cw.accept(result, gold=gold, error=0.05, sampling=sample).accepted
used = accepted.filter(accepted["by"] == "verdict")
print(f"{len(used)} of {votes.n_tasks} labels can be used without review")

# %% [markdown]
# The crowd is simulated, so the promise can be verified:

# %%
wrong = sum(truth[task] != label for task, label in used.select("task", "label").iter_rows())
print(f"{wrong} of them are wrong")
assert wrong <= 0.05 * len(used)
