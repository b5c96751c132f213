# %% [markdown]
# # Workers: who is good, who guesses
# A crowd of 30, a third of whom always give the same label. Agreement alone does not find them, since they agree with
# each other.

# %%
import crowdwise as cw

crowd = cw.simulate.scenario("class_constant", tasks=500, workers=30, labels=6, seed=1)
votes = crowd.annotations
result = cw.classes.Hierarchical().fit(votes)
study = cw.workers.study(votes, result)

# %% [markdown]
# ## Skill
# The expected share of right labels, with a 95 % interval:

# %%
study.quality.select("worker", "n_labels", "skill", "skill_low", "skill_high").head(5)

# %% alt="Skill of thirty workers with intervals; twenty are above 0.6 and ten near 0.25"
import matplotlib.pyplot as plt

plt.rcParams |= {"figure.figsize": (6, 5), "figure.dpi": 90}
result.plot.workers()
plt.show()

# %% [markdown]
# ## Confusion
# How a constant worker's labels depend on the truth: not at all.

# %%
worst = cw.workers.worst_first(study.quality)["worker"][0]
position = list(result.workers).index(worst)
print(worst, result.confusion[position].round(2), sep="\n")

# %% alt="Heat map of the confusion matrix of the least skilled worker: one column is dark"
plt.rcParams |= {"figure.figsize": (4, 3.2)}
result.plot.confusion(worst)
plt.show()

# %% [markdown]
# ## Flags
# Each flag names its evidence. Dropping the flagged workers is one call, but the model has already given their labels
# no weight.

# %%
for flag in study.flags[:5]:
    print(flag.worker, flag.name, flag.evidence)

# %%
truth = crowd.truth_table()
kept = cw.workers.drop_flagged(votes, study.flags).annotations
for name, some in (("all workers", votes), ("without flagged workers", kept)):
    for method in (cw.MajorityVote(), cw.classes.Hierarchical()):
        print(f"{name:24}{method.name:16}{cw.evaluate(method.fit(some), truth).accuracy:.3f}")
