"""The experiments by name: `module:Class` under benchmarks.papers."""

from __future__ import annotations

EXPERIMENTS: dict[str, str] = {
    "max_mig_labelme": "max_mig_more:LabelMe",
    "max_mig_copies": "max_mig_more:Copies",
    "max_mig_cifar": "max_mig_cases:Cifar",
    "max_mig_dogs": "max_mig_cases:Dogs",
    "max_mig_luna": "max_mig_cases:Luna",
    "trace_mnist": "trace_mnist:Skill",
    "deepbp_fig2": "deepbp_learning:TruePrior",
    "deepbp_fig3": "deepbp_learning:Mismatch",
    "deepbp_fig2_inference": "deepbp_inference:TruePrior",
    "deepbp_fig3_inference": "deepbp_inference:Spammers",
}
