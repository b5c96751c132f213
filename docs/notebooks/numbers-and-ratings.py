# %% [markdown]
# # Numbers and ratings
# Forty workers estimated numbers between 0 and 100; a fifth of them gives nearly the same answer to everything.

# %%
import crowdwise as cw

crowd = cw.simulate.scenario("numbers_constants", tasks=200, workers=40, labels=5, seed=1)
votes, truth = crowd.votes, crowd.truth_table()
result = cw.fit(votes)
result.to_table().head(4)

# %% [markdown]
# ## Against the mean

# %%
for method in (cw.numbers.Mean(), cw.numbers.Median(), cw.numbers.Combined()):
    scores = cw.evaluate(method.fit(votes), truth)
    print(f"{method.name:10} root mean squared error {scores.rmse:5.2f}")

# %% alt="Estimates with their intervals against the true values; they lie near the diagonal"
import matplotlib.pyplot as plt

plt.rcParams |= {"figure.figsize": (5, 4), "figure.dpi": 90}
table = result.to_table().join(truth.rename({"value": "true"}), on="task").sort("true")
figure, axes = plt.subplots()
low, high = table["value"] - table["low"], table["high"] - table["value"]
axes.errorbar(table["true"], table["value"], yerr=[low, high], fmt="o", markersize=3, linewidth=0.6, color="#0072b2")
axes.axline((50, 50), slope=1, color="black", linestyle="dashed")
axes.set(xlabel="true value", ylabel="estimate, 90 % interval")
plt.show()

# %% [markdown]
# ## Steps of a scale
# Ratings from 1 to 5 can be read as numbers or as ordered classes. With an order, methods model strict and lenient
# workers.

# %%
rated = cw.simulate.scenario("ordered_strict", tasks=200, workers=20, seed=1)
ordered = cw.ordered.OrdinalCommittee().fit(rated.annotations)
scores = cw.evaluate(ordered, rated.truth_table())
print(f"mean steps off {scores.mae:.2f}, quadratic kappa {scores.kappa:.2f}")
