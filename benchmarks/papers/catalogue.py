"""The experiments by name: `module:Class` under benchmarks.papers."""

from __future__ import annotations

EXPERIMENTS: dict[str, str] = {
    "deepbp_fig2_inference": "deepbp_inference:TruePrior",
    "deepbp_fig3_inference": "deepbp_inference:Spammers",
}
