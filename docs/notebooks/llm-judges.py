# %% [markdown]
# # LLM judges and an honest win rate
# Nine judges said of 600 pairs of answers which system is better, `0` or `1`. Judges share errors, so that their
# agreement does not show that they are right. A hundred human labels correct the win rate and show how many
# independent judges they are worth.

# %%
import crowdwise as cw

crowd = cw.simulate.scenario("judges_panel", tasks=600, seed=1)
votes = crowd.annotations
votes

# %% [markdown]
# ## How many judges are there?

# %%
truth = dict(crowd.truth_table().iter_rows())
sample = cw.draw(votes, 100, seed=1)
gold = {task: truth[task] for task in sample.tasks}
study = cw.judges(votes, gold=gold)
print(f"{len(votes.workers)} judges count as {study.n_eff.value:.1f} ({study.n_eff.low:.1f} to {study.n_eff.high:.1f})")
study.table.select(study.table.columns[:4]).head(4)

# %% [markdown]
# ## The win rate, naive and honest
# The share of pairs that the majority of the judges gives to the first system, and the estimate that uses the human
# labels:

# %%
vote = cw.MajorityVote().fit(votes)
first = votes.classes[0]
naive = (vote.to_table()["label"] == first).mean()
honest = cw.estimate(vote, gold=gold, metric=f"share:{first}", sampling=sample)
true = sum(label == first for label in truth.values()) / len(truth)
print(f"majority of the judges  {naive:.3f}")
print(f"estimate                {honest.value:.3f} ({honest.low:.3f} to {honest.high:.3f})")
print(f"truth (simulated)       {true:.3f}")

# %% alt="The vote of the judges and the estimate with its interval beside the true win rate"
import matplotlib.pyplot as plt

plt.rcParams |= {"figure.figsize": (6, 2.2), "figure.dpi": 90}
figure, axes = plt.subplots()
error = [[honest.value - honest.low], [honest.high - honest.value]]
axes.errorbar([honest.value], [0], xerr=error, fmt="o", color="#0072b2")
axes.plot([naive], [1], "o", color="#d55e00")
axes.axvline(true, color="black", linestyle="dashed")
axes.set(
    yticks=[0, 1],
    yticklabels=["estimate", "vote of the judges"],
    ylim=(-0.6, 1.6),
    xlabel="win rate of the first system",
)
figure.tight_layout()
plt.show()

# %% [markdown]
# ## Better labels from the same judges
# `judge_stack` learns on the human labels how much each judge adds to the others.

# %%
for name, labels in (("vote", vote), ("judge_stack", cw.classes.JudgeStack().fit(votes, gold))):
    print(f"{name:12}{cw.evaluate(labels, crowd.truth_table()).accuracy:.3f}")
