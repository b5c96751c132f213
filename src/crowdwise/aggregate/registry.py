"""The registry: a static table of names, where their classes live, and what they need and can.

The command line, the docs, the common tests and the benchmarks all read it. A method is tested by being registered,
and a law is skipped only by a capability that its card does not declare. Nothing heavy is imported to read it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..core.errors import ParameterError

if TYPE_CHECKING:
    from .base import Aggregator

DEFAULT = "committee"


@dataclass(frozen=True)
class Card:
    """What a method is.

    `needs`: "gold", "binary" (two classes), "overlap" (workers who share tasks). `can`: "confusion" (gives confusion
    matrices), "monotone" (its objective never falls within a stage), "single" (keeps every label when each task has
    only one), "infer" (inferring its own tasks gives its own posterior: it judges a task by its workers alone), "prior"
    (takes what earlier projects say of its workers). `takes`: the kind of answers.
    """

    name: str
    where: str
    family: str
    summary: str
    paper: str
    needs: frozenset[str] = frozenset()
    can: frozenset[str] = frozenset()
    takes: str = "classes"


def _card(
    name: str,
    cls: str,
    family: str,
    summary: str,
    paper: str,
    *,
    needs: str = "",
    can: str = "",
    module: str = "",
) -> tuple[str, Card]:
    where = f"crowdwise.aggregate.{family}.{module or name}:{cls}"
    return name, Card(name, where, family, summary, paper, frozenset(needs.split()), frozenset(can.split()))


_DS = "Dawid & Skene 1979, doi:10.2307/2346806"
METHODS: dict[str, Card] = dict(
    [
        _card("majority_vote", "MajorityVote", "voting", "every vote counts the same", "folklore",
              can="infer single"),
        _card("wawa", "Wawa", "voting", "votes weighted by agreement with the majority",
              "Appen's worker agreement with aggregate", can="infer single"),
        _card("zero_based_skill", "ZeroBasedSkill", "voting", "agreement weights refined step by step",
              "Toloka's zero-based skill", can="infer single"),
        _card("iwmv", "IWMV", "voting", "iterated weights K·accuracy - 1",
              "Li & Yu 2014, arXiv:1411.4086", can="infer single"),
        _card("log_odds_vote", "LogOddsVote", "voting", "iterated log-odds weights, optimal for one-coin workers",
              "Nitzan & Paroush 1982, doi:10.2307/2526438", can="infer single"),
        _card("gold_majority_vote", "GoldMajorityVote", "voting", "votes weighted by accuracy on gold tasks",
              "folklore", needs="gold", can="infer single"),
        _card("bwa", "BWA", "voting", "votes weighted by precision, tasks held to their common mean",
              "Li, Rubinstein & Cohn 2019, doi:10.1145/3308558.3313459", can="infer monotone single"),
        _card("dawid_skene", "DawidSkene", "confusion", "one confusion matrix per worker, by EM", _DS,
              can="infer confusion monotone prior"),
        _card("one_coin", "OneCoin", "confusion", "one accuracy per worker, errors uniform, by EM",
              "Zhang et al. 2016, jmlr v17/14-511", can="infer confusion monotone"),
        _card("zencrowd", "ZenCrowd", "confusion", "one accuracy per worker, classes equally likely, by EM",
              "Demartini et al. 2012, doi:10.1145/2187836.2187900", can="infer confusion monotone"),
        _card("confusion_vector", "ConfusionVector", "confusion", "one accuracy per worker and class, by EM",
              "Ibrahim et al. 2023", can="infer confusion monotone"),
        _card("pooled", "Pooled", "confusion", "one confusion matrix for the whole crowd, by EM", _DS,
              can="infer confusion monotone"),
        _card("mace", "MACE", "confusion", "a worker knows the answer or spams by habits of his own, by EM",
              "Hovy et al. 2013, aclanthology.org/N13-1132", can="infer confusion monotone"),
        _card("glad", "GLAD", "difficulty", "ability of workers and difficulty of tasks, by gradient ascent",
              "Whitehill et al. 2009, NIPS 22", can="infer confusion monotone"),
        _card("minimax_entropy", "MinimaxEntropy", "difficulty", "confusions of workers and of tasks, as logits",
              "Zhou et al. 2015, arXiv:1503.07240", can="infer confusion monotone"),
        _card("group_aware", "GroupAware", "dependence", "workers who copy each other count as one voice, by EM",
              "Jaffe et al. 2016, pmlr v51/jaffe16", can="infer confusion monotone"),
        _card("raykar_yu", "RaykarYu", "confusion", "confusion matrices whose rows fall together for spammers, by EM",
              "Raykar & Yu 2012, jmlr v13/raykar12a", can="infer confusion monotone"),
        _card("hierarchical", "Hierarchical", "confusion",
              "confusion matrices that shrink to the crowd's, as far as the data ask for it",
              "Paun et al. 2018, doi:10.1162/tacl_a_00040", can="infer confusion monotone single prior"),
        _card("committee", "Committee", "ensemble", "eight methods that fail in different ways, weighed and averaged",
              "Stone 1961, doi:10.1214/aoms/1177704873", can="confusion single prior"),
        _card("auto", "Auto", "ensemble", "one model of four, chosen by the labels that it foretells",
              "Breiman et al. 1984, doi:10.1201/9781315139470", can="infer confusion single prior"),
        _card("ibcc", "IBCC", "bayes", "beliefs over every worker's confusion matrix, by variational Bayes",
              "Kim & Ghahramani 2012, pmlr v22/kim12", can="infer confusion monotone prior"),
        _card("bayes_gc", "BayesGC", "bayes", "ibcc under the flatter prior of BayesDGC",
              "Li et al. 2021, doi:10.1007/s11432-020-3118-7", can="infer confusion monotone prior"),
        _card("mean_field", "MeanField", "bayes", "variational Bayes under a fixed class prior, one coin or two",
              "Liu et al. 2012, NeurIPS 25", can="infer confusion monotone prior"),
        _card("gibbs", "Gibbs", "bayes", "ibcc's model by sampling: slower, with honest confidence",
              "Kim & Ghahramani 2012, pmlr v22/kim12", can="confusion"),
        _card("ebcc", "EBCC", "bayes", "classes have subtypes on which workers err together",
              "Li, Rubinstein & Cohn 2019, pmlr v97/li19i", can="infer confusion monotone prior"),
        _card("cbcc", "CBCC", "bayes", "workers come in communities and borrow their matrices",
              "Venanzi et al. 2014, doi:10.1145/2566486.2567989", can="infer confusion monotone prior"),
        _card("belief_propagation", "BeliefPropagation", "bayes", "confusion matrices integrated out, by messages",
              "Liu et al. 2012, NeurIPS 25", can="confusion single"),
        _card("kos", "KOS", "spectral", "messages between tasks and workers without a prior",
              "Karger et al. 2014, doi:10.1287/opre.2013.1235", can="single"),
        _card("pgd", "PGD", "spectral", "one-coin skills that explain the workers' agreement",
              "Ma et al. 2018, pmlr v80", can="infer single"),
        _card("ghosh", "Ghosh", "spectral", "votes weighted by the label matrix's leading singular vector",
              "Ghosh et al. 2011, doi:10.1145/1993574.1993599", can="infer single"),
        _card("eigen_ratio", "EigenRatio", "spectral", "votes weighted by a ratio of two eigenvectors",
              "Dalvi et al. 2013, doi:10.1145/2488388.2488414", can="infer single"),
        _card("mmsr", "MMSR", "spectral", "one-coin skills from agreement, robust to some adversaries",
              "Ma & Olshevsky 2020, NeurIPS 33", can="infer single"),
        _card("sml", "SML", "moments", "two classes: accuracies from the workers' covariance",
              "Parisi et al. 2014, doi:10.1073/pnas.1219097111", needs="binary overlap", can="infer confusion"),
        _card("multi_spa", "MultiSPA", "moments", "confusion rows as corners of pairwise frequencies",
              "Ibrahim et al. 2019, arXiv:1909.12325", needs="overlap", can="infer confusion"),
        _card("cnmf", "CNMF", "moments", "confusion matrices that explain all pairs of workers",
              "Ibrahim et al. 2019, arXiv:1909.12325", needs="overlap", can="infer confusion monotone"),
        _card("spectral_ds", "SpectralDS", "moments", "third moments of three groups of workers, then EM",
              "Zhang et al. 2016, arXiv:1406.3824", needs="overlap", can="infer confusion"),
        _card("sym_nmf", "SymNMF", "moments", "one matrix of all pairs, gaps imputed, in non-negative factors",
              "Ibrahim & Fu 2021, pmlr v139", needs="overlap", can="infer confusion"),
        _card("tensor", "Tensor", "moments", "confusion matrices that explain pairs and triples of workers",
              "Traganitis et al. 2018, doi:10.1109/TSP.2018.2860562", needs="overlap",
              can="infer confusion monotone"),
        _card("m3v", "M3V", "voting", "weights under which the winning class leads by most",
              "Tian & Zhu 2015, NeurIPS 28", can="infer single"),
    ]
)  # fmt: skip


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


# Methods that train a net on features and raw labels together. `can`: "confusion" (gives confusion matrices),
# "forecast" (p(class | x, labels)), "workers" (bias, slope or spread of each worker), "interval" (how sure a number is,
# and numbers of net and votes together). `needs`: "confusion" (matrices that the user gives).
_LAYER = "Rodrigues & Pereira 2018, arXiv:1709.01779"
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
                 takes="numbers"),
        _learner("crowd_layer_s", "CrowdLayerS", "a slope per worker on the net's number", _LAYER, can="workers",
                 module="crowd_layer_numbers", takes="numbers"),
        _learner("crowd_layer_b", "CrowdLayerB", "a bias per worker on the net's number", _LAYER, can="workers",
                 module="crowd_layer_numbers", takes="numbers"),
        _learner("crowd_layer_sb", "CrowdLayerSB", "a slope, then a bias per worker on the net's number", _LAYER,
                 can="workers", module="crowd_layer_numbers", takes="numbers"),
        _learner("crowd_layer_bs", "CrowdLayerBS", "a bias, then a slope per worker on the net's number", _LAYER,
                 can="workers", module="crowd_layer_numbers", takes="numbers"),
        _learner("gaussian_net", "GaussianNet", "truth around the net's number; bias, slope and spread per worker",
                 "Raykar et al. 2010, jmlr v11/raykar10a", can="workers interval", takes="numbers"),
    ]
)  # fmt: skip


def learner(name: str) -> Card:
    """The card of a method that trains a classifier."""
    if name not in LEARNERS:
        raise ParameterError(
            f"there is no training method {name!r}; `crowdwise methods` lists them" + _nearest(name, LEARNERS)
        )
    return LEARNERS[name]


def names() -> list[str]:
    """All registered names of aggregators, plug-ins included."""
    return [*METHODS, *(ep.name for ep in _plugins())]


def card(name: str) -> Card:
    """The card of a method."""
    if name in METHODS:
        return METHODS[name]
    for plugin in _plugins():
        if plugin.name == name:
            found = plugin.load().card
            if isinstance(found, Card):
                return found
    raise ParameterError(f"there is no method {name!r}; `crowdwise methods` lists them" + _nearest(name))


def get(name: str) -> type[Aggregator]:
    """The class of a method."""
    module, _, cls = card(name).where.partition(":")
    found: type[Aggregator] = getattr(import_module(module), cls)
    return found


def method(name: str, **params: Any) -> Aggregator:
    """A method by its registry name.

    >>> method("wawa", seed=7)
    Wawa(seed=7, ties='split')
    """
    cls = get(name)
    known = [f.name for f in fields(cls)]
    for given in params:
        if given not in known:
            raise ParameterError(f"{name} has no parameter {given!r}; it has {', '.join(known)}")
    return cls(**params)


def _plugins() -> list[Any]:
    from importlib.metadata import entry_points

    return list(entry_points(group="crowdwise.methods"))


def _nearest(name: str, among: dict[str, Card] = METHODS) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, among, n=1)
    return f" (did you mean {close[0]}?)" if close else ""
