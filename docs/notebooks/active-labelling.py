# %% [markdown]
# # Active labelling: spend labels where they help
# Two labels per task are there, and money for 200 more. Which tasks should get them?

# %%
import crowdwise as cw

crowd = cw.simulate.scenario("one_coin", tasks=300, workers=30, labels=2, seed=3)
votes, truth = crowd.annotations, crowd.truth_table()
plan = cw.active.plan(votes, budget=200)
plan.tasks.select("task", "confidence", "todo", "votes", "gain").head(5)

# %% [markdown]
# The plan says in words what it expects:

# %%
for sentence in plan.sentences():
    print(sentence)

# %% alt="Histogram of confidence before the plan; the tasks that get votes have the lowest confidence"
import matplotlib.pyplot as plt

plt.rcParams |= {"figure.figsize": (6, 3), "figure.dpi": 90}
labels = cw.fit(votes).to_table()
chosen = set(plan.tasks.filter(plan.tasks["votes"] > 0)["task"])
figure, axes = plt.subplots()
asked = labels.filter(labels["task"].is_in(list(chosen)))
shown, names = [labels["confidence"], asked["confidence"]], ["all tasks", "tasks that get votes"]
axes.hist(shown, bins=15, label=names, color=["#999999", "#0072b2"])
axes.set(xlabel="confidence", ylabel="tasks")
axes.legend()
plt.show()

# %% [markdown]
# ## What it gains
# The same number of labels, bought by the plan or spread evenly. The new labels come from the same simulated workers.

# %%
import numpy as np
import polars as pl

rng = np.random.default_rng(0)
correct = dict(truth.iter_rows())
skill = dict(cw.fit(votes).worker_table().select("worker", "skill").iter_rows())
accuracy = {worker: min(max(value, 0.5), 0.95) for worker, value in skill.items()}


def ask(tasks):
    """One more label for each of the tasks, from a random worker of about the estimated skill."""
    rows = []
    for task in tasks:
        worker = rng.choice(list(accuracy))
        others = [label for label in votes.classes if label != correct[task]]
        label = correct[task] if rng.random() < accuracy[worker] else rng.choice(others)
        rows.append((task, worker + "+", label))
    more = pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")
    rows = pl.concat([votes.to_frame().select("task", "worker", "label"), more])
    return cw.Annotations.from_frame(rows.unique(["task", "worker"], keep="first", maintain_order=True))


planned = [task for task, n in plan.tasks.select("task", "votes").iter_rows() for _ in range(n)]
even = list(rng.choice(list(correct), size=len(planned)))
for name, tasks in (("spread evenly", even), ("by the plan", planned)):
    print(f"{name:15}{cw.evaluate(cw.fit(ask(tasks)), truth).accuracy:.3f}")
