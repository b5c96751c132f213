# %% [markdown]
# # Spans and boxes
# Workers marked names in texts, others drew boxes in images. Answers overlap without being equal, so that a vote
# cannot count them.

# %%
import crowdwise as cw

names = cw.simulate.scenario("spans_random", tasks=60, workers=12, seed=1)
result = cw.fit(names.votes)
result.to_table().head(3)

# %% [markdown]
# ## Spans
# The score is F1 of the marked characters against the truth.

# %%
for method in (cw.spans.SpanMajority(), cw.spans.SpanCombined()):
    print(f"{method.name:15}{cw.evaluate(method.fit(names.votes), names.truth_table()).f1:.3f}")

# %% [markdown]
# ## Boxes
# The boxes of all workers are grouped into objects; every object has a confidence that it is there.

# %%
drawn = cw.simulate.scenario("boxes_random", tasks=40, workers=12, seed=1)
objects = cw.fit(drawn.votes)
objects.to_table().head(3)

# %% alt="Boxes of several workers on one image in grey, and the boxes of the result in blue"
import json

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

plt.rcParams |= {"figure.figsize": (5, 4), "figure.dpi": 90}
figure, axes = plt.subplots()
votes, table = drawn.votes.to_frame(), objects.to_table()
task = table["task"][0]
for rows, style in ((votes, {"color": "#999999"}), (table, {"color": "#0072b2", "linewidth": 2.5})):
    for text in rows.filter(rows["task"] == task)["boxes"]:
        for left, top, right, bottom, *_ in json.loads(text):
            axes.add_patch(Rectangle((left, top), right - left, bottom - top, fill=False, **style))
axes.autoscale()
axes.set(title=f"image {task}")
axes.invert_yaxis()
plt.show()

# %%
for method in (cw.boxes.BoxMean(), cw.boxes.BoxClusters()):
    print(f"{method.name:15}{cw.evaluate(method.fit(drawn.votes), drawn.truth_table()).f1:.3f}")
