"""The experiments by name: `module:Class` under benchmarks.papers."""

from __future__ import annotations

EXPERIMENTS: dict[str, str] = {
    "max_mig_cifar": "max_mig_cases:Cifar",
    "max_mig_dogs": "max_mig_cases:Dogs",
    "max_mig_luna": "max_mig_cases:Luna",
    "deepbp_fig2_inference": "deepbp_inference:TruePrior",
    "deepbp_fig3_inference": "deepbp_inference:Spammers",
}
