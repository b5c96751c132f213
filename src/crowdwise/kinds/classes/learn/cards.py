"""Methods that train on features and raw answers together."""

from __future__ import annotations

from ....core.card import Card, card


def _learner(
    name: str, where: str, summary: str, paper: str, *, needs: str = "", can: str = "", takes: str = "classes"
) -> tuple[str, Card]:
    module = f"classes.learn.methods.{where}" if takes == "classes" else where
    return card(name, module, "learn", summary, paper, needs=f"features {needs}", can=can, takes=takes)


_LAYER = "Rodrigues & Pereira 2018, arXiv:1709.01779"
# Methods that train a net on features and raw labels together. `can`: "confusion" (estimates confusion matrices),
# "forecast" (p(class | x, labels)), "workers" (bias, slope or spread of each worker), "interval" (intervals of numbers,
# and estimates from net and votes together). `needs`: "confusion" (matrices given by the user).
LEARNERS: dict[str, Card] = dict(
    [
        _learner("vanilla", "simple:Vanilla", "the classifier alone, trained on the votes", "folklore"),
        _learner(
            "ccem",
            "confusion:CCEM",
            "classifier and confusion matrices by one cross-entropy",
            "Rodrigues & Pereira 2018, arXiv:1709.01779",
            can="confusion forecast",
        ),
        _learner(
            "agg_net",
            "deep_em:AggNet",
            "deep EM: classifier, posteriors and confusion matrices in turn",
            "Albarqouni et al. 2016, doi:10.1109/TMI.2016.2528120",
            can="confusion forecast",
        ),
        _learner(
            "max_mig",
            "max_mig:MaxMIG",
            "classifier and aggregator with the most mutual information",
            "Cao et al. 2019, arXiv:1905.13436",
            can="forecast",
        ),
        _learner(
            "doctor_net",
            "doctors:DoctorNet",
            "a head per worker on shared features, averaged",
            "Guan et al. 2018, arXiv:1703.08774",
        ),
        _learner(
            "weighted_doctor_net",
            "doctors:WeightedDoctorNet",
            "a head per worker, averaged with learned weights",
            "Guan et al. 2018, arXiv:1703.08774",
        ),
        _learner(
            "raykar",
            "deep_em:Raykar",
            "logistic regression and confusion matrices by EM, with priors on both",
            "Raykar et al. 2010, jmlr v11/raykar10a",
            can="confusion forecast",
        ),
        _learner(
            "mbem",
            "deep_em:MBEM",
            "confusion matrices against hard predictions, then a classifier from scratch, in rounds",
            "Khetan et al. 2018, arXiv:1712.04577",
            can="confusion forecast",
        ),
        _learner(
            "bayes_dgc",
            "deep_em:BayesDGC",
            "beliefs over confusion matrices and class prior, by natural-gradient steps",
            "Li et al. 2021, doi:10.1007/s11432-020-3118-7",
            can="confusion forecast",
        ),
        _learner(
            "deep_mf",
            "deep_em:DeepMF",
            "deep EM with beliefs over confusion matrices and a classifier of bounded confidence",
            "Kim, Cho, Kim & Ok 2022, AISTATS",
            can="confusion forecast",
        ),
        _learner(
            "deep_bp",
            "deep_em:DeepBP",
            "belief propagation with the classifier as the prior of every task",
            "Kim, Cho, Kim & Ok 2022, AISTATS",
            can="confusion forecast",
        ),
        _learner(
            "two_stage",
            "simple:TwoStage",
            "an aggregator's posterior as the classifier's targets",
            "folklore",
            can="confusion forecast",
        ),
        _learner(
            "soft_bootstrap",
            "simple:SoftBootstrap",
            "training on a mixture of the votes and the net's predictions",
            "Reed et al. 2015, arXiv:1412.6596",
        ),
        _learner(
            "single_confusion",
            "confusion:SingleConfusion",
            "one confusion matrix for the whole crowd, with a trace penalty",
            "Sukhbaatar et al. 2015, arXiv:1406.2080",
            can="confusion forecast",
        ),
        _learner(
            "crowd_layer",
            "confusion:CrowdLayer",
            "a layer of free weights per worker over the probabilities",
            "Rodrigues & Pereira 2018, arXiv:1709.01779",
            can="confusion forecast",
        ),
        _learner(
            "trace",
            "confusion:Trace",
            "ccem with a trace penalty on the confusion matrices",
            "Tanno et al. 2019, arXiv:1902.03680",
            can="confusion forecast",
        ),
        _learner(
            "log_trace",
            "confusion:LogTrace",
            "the trace penalty as a prior that allows for adversaries",
            "Kim et al. 2022, pmlr v151, eq. 35",
            can="confusion forecast",
        ),
        _learner(
            "geo_crowd_net_f",
            "geometry:GeoCrowdNetF",
            "ccem with outputs spread out over the classes",
            "Ibrahim, Nguyen & Fu 2023, arXiv:2306.03288",
            can="confusion forecast",
        ),
        _learner(
            "geo_crowd_net_w",
            "geometry:GeoCrowdNetW",
            "ccem with confusions far from singular",
            "Ibrahim, Nguyen & Fu 2023, arXiv:2306.03288",
            can="confusion forecast",
        ),
        _learner(
            "coin_net",
            "geometry:COINNet",
            "confusion matrices, and corrections that few tasks may use",
            "Nguyen, Ibrahim & Fu 2024, NeurIPS 37",
            can="confusion forecast",
        ),
        _learner(
            "instance_confusion",
            "confusion:InstanceConfusion",
            "confusion matrices that depend on the task",
            "Zhang et al. 2020, arXiv:2007.15963",
            can="forecast",
        ),
        _learner(
            "conal",
            "confusion:CoNAL",
            "noise common to all workers and individual noise",
            "Chu, Ma & Wang 2021, arXiv:2012.13052",
            can="confusion forecast",
        ),
        _learner(
            "union_net",
            "confusion:UnionNet",
            "all workers as a single one, who gives the stack of their labels",
            "Wei et al. 2022, doi:10.1109/TNNLS.2022.3168696",
            can="confusion forecast",
        ),
        _learner(
            "known_confusion",
            "confusion:KnownConfusion",
            "the classifier with given confusion matrices",
            "Patrini et al. 2017, arXiv:1609.03683",
            needs="confusion",
            can="confusion forecast",
        ),
        _learner(
            "mean_target",
            "numbers.learn.methods:MeanTarget",
            "the net alone, trained on the mean of each task's numbers",
            "folklore",
            takes="numbers",
        ),
        _learner(
            "crowd_layer_s",
            "numbers.learn.methods:CrowdLayerS",
            "a slope per worker on the net's number",
            _LAYER,
            can="workers",
            takes="numbers",
        ),
        _learner(
            "crowd_layer_b",
            "numbers.learn.methods:CrowdLayerB",
            "a bias per worker on the net's number",
            _LAYER,
            can="workers",
            takes="numbers",
        ),
        _learner(
            "crowd_layer_sb",
            "numbers.learn.methods:CrowdLayerSB",
            "a slope, then a bias per worker on the net's number",
            _LAYER,
            can="workers",
            takes="numbers",
        ),
        _learner(
            "crowd_layer_bs",
            "numbers.learn.methods:CrowdLayerBS",
            "a bias, then a slope per worker on the net's number",
            _LAYER,
            can="workers",
            takes="numbers",
        ),
        _learner(
            "gaussian_net",
            "numbers.learn.methods:GaussianNet",
            "truth around the net's number; bias, slope and spread per worker",
            "Raykar et al. 2010, jmlr v11/raykar10a",
            can="workers interval",
            takes="numbers",
        ),
        _learner(
            "reward_net",
            "comparisons.learn:RewardNet",
            "a score of every item by its features, a reliability of every worker",
            "Chen et al. 2013, doi:10.1145/2433396.2433420",
            can="workers",
            takes="comparisons",
        ),
        _learner(
            "majority_reward",
            "comparisons.learn:MajorityReward",
            "a score of every item, trained on each pair's majority",
            "folklore",
            takes="comparisons",
        ),
        _learner(
            "sequence_confusion",
            "spans.learn:SequenceConfusion",
            "a tagger and a confusion matrix of every worker",
            _LAYER,
            can="confusion forecast",
            takes="spans",
        ),
        _learner(
            "sequence_layer",
            "spans.learn:SequenceLayer",
            "a tagger and a layer of free weights per worker",
            _LAYER,
            can="confusion forecast",
            takes="spans",
        ),
        _learner(
            "majority_tags",
            "spans.learn:MajorityTags",
            "a tagger alone, trained on each token's majority",
            "folklore",
            takes="spans",
        ),
        _learner(
            "similarity_net",
            "similarities.learn:SimilarityNet",
            "clusters of items by their features, two coins of every worker",
            "after Gomes et al. 2011, Crowdclustering, NeurIPS 24",
            can="workers",
            takes="similarities",
        ),
    ]
)
