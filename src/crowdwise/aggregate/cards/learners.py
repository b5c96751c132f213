"""Methods that train on features and raw answers together."""

from __future__ import annotations

from .card import Card


def _learner(
    name: str,
    cls: str,
    summary: str,
    paper: str,
    *,
    needs: str = "",
    can: str = "",
    module: str = "",
    takes: str = "classes",
) -> tuple[str, Card]:
    where = f"crowdwise.learn.methods.{module or name}:{cls}"
    needed = frozenset({"features", *needs.split()})
    return name, Card(name, where, "learn", summary, paper, needed, frozenset(can.split()), takes)


_LAYER = "Rodrigues & Pereira 2018, arXiv:1709.01779"
# Methods that train a net on features and raw labels together. `can`: "confusion" (gives confusion matrices),
# "forecast" (p(class | x, labels)), "workers" (bias, slope or spread of each worker), "interval" (how sure a number is,
# and numbers of net and votes together). `needs`: "confusion" (matrices that the user gives).
LEARNERS: dict[str, Card] = dict(
    [
        _learner("vanilla", "Vanilla", "the classifier alone, trained on the votes", "folklore"),
        _learner("ccem", "CCEM", "classifier and confusion matrices by one cross-entropy",
                 "Rodrigues & Pereira 2018, arXiv:1709.01779", can="confusion forecast"),
        _learner("agg_net", "AggNet", "deep EM: classifier, posteriors and confusion matrices in turn",
                 "Albarqouni et al. 2016, doi:10.1109/TMI.2016.2528120", can="confusion forecast",
                 module="deep_em.agg_net"),
        _learner("max_mig", "MaxMIG", "classifier and aggregator with the most mutual information",
                 "Cao et al. 2019, arXiv:1905.13436", can="forecast"),
        _learner("doctor_net", "DoctorNet", "a head per worker on shared features, averaged",
                 "Guan et al. 2018, arXiv:1703.08774"),
        _learner("weighted_doctor_net", "WeightedDoctorNet", "a head per worker, averaged by learnt weights",
                 "Guan et al. 2018, arXiv:1703.08774"),
        _learner("raykar", "Raykar", "logistic regression and confusion matrices by EM, with priors on both",
                 "Raykar et al. 2010, jmlr v11/raykar10a", can="confusion forecast", module="deep_em.raykar"),
        _learner("mbem", "MBEM", "confusions against hard predictions, then a classifier from scratch, in rounds",
                 "Khetan et al. 2018, arXiv:1712.04577", can="confusion forecast", module="deep_em.mbem"),
        _learner("bayes_dgc", "BayesDGC", "beliefs over confusions and class prior, by natural-gradient steps",
                 "Li et al. 2021, doi:10.1007/s11432-020-3118-7", can="confusion forecast", module="deep_em.bayes_dgc"),
        _learner("deep_mf", "DeepMF", "deep EM with beliefs over confusions and a classifier whose say is bounded",
                 "Kim, Cho, Kim & Ok 2022, AISTATS", can="confusion forecast", module="deep_em.deep_mf"),
        _learner("deep_bp", "DeepBP", "belief propagation with the classifier as what is known of each task",
                 "Kim, Cho, Kim & Ok 2022, AISTATS", can="confusion forecast", module="deep_em.deep_bp"),
        _learner("two_stage", "TwoStage", "an aggregator's posterior as the classifier's targets",
                 "folklore", can="confusion forecast"),
        _learner("soft_bootstrap", "SoftBootstrap", "the votes and a little of what the net itself believes",
                 "Reed et al. 2015, arXiv:1412.6596"),
        _learner("single_confusion", "SingleConfusion", "one confusion matrix for the whole crowd, with a trace",
                 "Sukhbaatar et al. 2015, arXiv:1406.2080", can="confusion forecast"),
        _learner("crowd_layer", "CrowdLayer", "a layer of free weights per worker over the probabilities",
                 "Rodrigues & Pereira 2018, arXiv:1709.01779", can="confusion forecast"),
        _learner("trace", "Trace", "ccem with the confusions pulled off the identity",
                 "Tanno et al. 2019, arXiv:1902.03680", can="confusion forecast"),
        _learner("log_trace", "LogTrace", "the trace as a prior that expects adversaries",
                 "Kim et al. 2022, pmlr v151, eq. 35", can="confusion forecast", module="trace"),
        _learner("geo_crowd_net_f", "GeoCrowdNetF", "ccem with outputs spread out over the classes",
                 "Ibrahim, Nguyen & Fu 2023, arXiv:2306.03288", can="confusion forecast"),
        _learner("geo_crowd_net_w", "GeoCrowdNetW", "ccem with confusions far from singular",
                 "Ibrahim, Nguyen & Fu 2023, arXiv:2306.03288", can="confusion forecast"),
        _learner("coin_net", "COINNet", "confusion matrices, and corrections that few tasks may use",
                 "Nguyen, Ibrahim & Fu 2024, NeurIPS 37", can="confusion forecast"),
        _learner("instance_confusion", "InstanceConfusion", "confusion matrices that depend on the task",
                 "Zhang et al. 2020, arXiv:2007.15963", can="forecast"),
        _learner("conal", "CoNAL", "noise common to all workers and noise of each one's own",
                 "Chu, Ma & Wang 2021, arXiv:2012.13052", can="confusion forecast"),
        _learner("union_net", "UnionNet", "all workers as one who answers with the stack of their labels",
                 "Wei et al. 2022, doi:10.1109/TNNLS.2022.3168696", can="confusion forecast"),
        _learner("known_confusion", "KnownConfusion", "the classifier under confusion matrices that are given",
                 "Patrini et al. 2017, arXiv:1609.03683", needs="confusion", can="confusion forecast"),
        _learner("mean_target", "MeanTarget", "the net alone, trained on the mean of each task's numbers", "folklore",
                 module="numbers.mean_target", takes="numbers"),
        _learner("crowd_layer_s", "CrowdLayerS", "a slope per worker on the net's number", _LAYER, can="workers",
                 module="numbers.crowd_layer", takes="numbers"),
        _learner("crowd_layer_b", "CrowdLayerB", "a bias per worker on the net's number", _LAYER, can="workers",
                 module="numbers.crowd_layer", takes="numbers"),
        _learner("crowd_layer_sb", "CrowdLayerSB", "a slope, then a bias per worker on the net's number", _LAYER,
                 can="workers", module="numbers.crowd_layer", takes="numbers"),
        _learner("crowd_layer_bs", "CrowdLayerBS", "a bias, then a slope per worker on the net's number", _LAYER,
                 can="workers", module="numbers.crowd_layer", takes="numbers"),
        _learner("gaussian_net", "GaussianNet", "truth around the net's number; bias, slope and spread per worker",
                 "Raykar et al. 2010, jmlr v11/raykar10a", can="workers interval", module="numbers.gaussian_net",
                 takes="numbers"),
    ]
)  # fmt: skip
