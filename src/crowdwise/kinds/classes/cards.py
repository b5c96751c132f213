"""Methods for classes."""

from __future__ import annotations

from ...core.card import Card, card

_DS = "Dawid & Skene 1979, doi:10.2307/2346806"


def _card(
    name: str, cls: str, family: str, summary: str, paper: str, needs: str = "", can: str = ""
) -> tuple[str, Card]:
    where = cls if ":" in cls else f"{family}:{cls}"
    return card(name, f"classes.methods.{where}", family, summary, paper, needs=needs, can=can)


# fmt: off
CLASSES: dict[str, Card] = dict([
    _card("majority_vote", "MajorityVote", "voting", "every vote counts the same", "folklore",
          can="infer single shard"),
    _card("wawa", "Wawa", "voting", "votes weighted by agreement with the majority",
          "Appen's worker agreement with aggregate", can="infer single shard"),
    _card("zero_based_skill", "ZeroBasedSkill", "voting", "agreement weights refined step by step",
          "Toloka's zero-based skill", can="infer single shard"),
    _card("iwmv", "IWMV", "voting", "iterated weights K·accuracy - 1", "Li & Yu 2014, arXiv:1411.4086",
          can="infer single shard"),
    _card("log_odds_vote", "LogOddsVote", "voting", "iterated log-odds weights, optimal for one-coin workers",
          "Nitzan & Paroush 1982, doi:10.2307/2526438", can="infer single shard"),
    _card("gold_majority_vote", "GoldMajorityVote", "voting", "votes weighted by accuracy on gold tasks", "folklore",
          needs="gold", can="infer single shard"),
    _card("bwa", "BWA", "voting", "votes weighted by precision, tasks held to their common mean",
          "Li, Rubinstein & Cohn 2019, doi:10.1145/3308558.3313459", can="infer monotone single shard"),
    _card("dawid_skene", "confusion.matrices:DawidSkene", "confusion", "one confusion matrix per worker, by EM", _DS,
          can="infer confusion monotone prior shard"),
    _card("one_coin", "confusion.matrices:OneCoin", "confusion", "one accuracy per worker, errors uniform, by EM",
          "Zhang et al. 2016, jmlr v17/14-511", can="infer confusion monotone shard"),
    _card("zencrowd", "confusion.matrices:ZenCrowd", "confusion",
          "one accuracy per worker, classes equally likely, by EM",
          "Demartini et al. 2012, doi:10.1145/2187836.2187900", can="infer confusion monotone shard"),
    _card("confusion_vector", "confusion.matrices:ConfusionVector", "confusion",
          "one accuracy per worker and class, by EM", "Ibrahim et al. 2023", can="infer confusion monotone shard"),
    _card("pooled", "confusion.matrices:Pooled", "confusion", "one confusion matrix for the whole crowd, by EM", _DS,
          can="infer confusion monotone shard"),
    _card("mace", "confusion.mace:MACE", "confusion",
          "a worker knows the answer or spams with a fixed distribution, by EM",
          "Hovy et al. 2013, aclanthology.org/N13-1132", can="infer confusion monotone shard"),
    _card("glad", "GLAD", "difficulty", "ability of workers and difficulty of tasks, by gradient ascent",
          "Whitehill et al. 2009, NIPS 22", can="infer confusion monotone shard"),
    _card("minimax_entropy", "MinimaxEntropy", "difficulty", "confusions of workers and of tasks, as logits",
          "Zhou et al. 2015, arXiv:1503.07240", can="infer confusion monotone"),
    _card("group_aware", "GroupAware", "dependence", "workers who copy each other have one vote, by EM",
          "Jaffe et al. 2016, pmlr v51/jaffe16", can="infer confusion monotone shard"),
    _card("raykar_yu", "confusion.raykar_yu:RaykarYu", "confusion",
          "confusion matrices with equal rows for spammers, by EM", "Raykar & Yu 2012, jmlr v13/raykar12a",
          can="infer confusion monotone shard"),
    _card("hierarchical", "confusion.hierarchical:Hierarchical", "confusion",
          "confusion matrices shrunk to the crowd's, by empirical Bayes",
          "Paun et al. 2018, doi:10.1162/tacl_a_00040", can="infer confusion monotone single prior shard"),
    _card("adaptive", "ensemble.adaptive:Adaptive", "ensemble",
          "a robust average or model-based posteriors, by a test of independent errors",
          "Stone 1961, doi:10.1214/aoms/1177704873", can="confusion single prior shard"),
    _card("committee", "ensemble.committee:Committee", "ensemble",
          "five methods that fail in different ways, averaged", "Stone 1961, doi:10.1214/aoms/1177704873",
          can="confusion single prior shard"),
    _card("auto", "ensemble.auto:Auto", "ensemble", "one of four models, selected by held-out likelihood",
          "Breiman et al. 1984, doi:10.1201/9781315139470", can="infer confusion single prior"),
    _card("ibcc", "IBCC", "bayes", "posteriors over the workers' confusion matrices, by variational Bayes",
          "Kim & Ghahramani 2012, pmlr v22/kim12", can="infer confusion monotone prior shard"),
    _card("bayes_gc", "BayesGC", "bayes", "ibcc under the flatter prior of BayesDGC",
          "Li et al. 2021, doi:10.1007/s11432-020-3118-7", can="infer confusion monotone prior shard"),
    _card("mean_field", "MeanField", "bayes", "variational Bayes under a fixed class prior, one coin or two",
          "Liu et al. 2012, NeurIPS 25", can="infer confusion monotone prior shard"),
    _card("gibbs", "Gibbs", "bayes", "the model of ibcc by sampling: slower, better calibrated",
          "Kim & Ghahramani 2012, pmlr v22/kim12", can="confusion"),
    _card("ebcc", "communities:EBCC", "bayes", "classes have subtypes on which workers err together",
          "Li, Rubinstein & Cohn 2019, pmlr v97/li19i", can="infer confusion monotone prior shard"),
    _card("cbcc", "communities:CBCC", "bayes", "workers belong to communities with common confusion matrices",
          "Venanzi et al. 2014, doi:10.1145/2566486.2567989", can="infer confusion monotone prior shard"),
    _card("belief_propagation", "BeliefPropagation", "bayes", "confusion matrices integrated out, by messages",
          "Liu et al. 2012, NeurIPS 25", can="confusion single"),
    _card("kos", "KOS", "spectral", "messages between tasks and workers without a prior",
          "Karger et al. 2014, doi:10.1287/opre.2013.1235", can="single"),
    _card("pgd", "PGD", "spectral", "one-coin skills that explain the workers' agreement", "Ma et al. 2018, pmlr v80",
          can="infer single"),
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
          "Traganitis et al. 2018, doi:10.1109/TSP.2018.2860562", needs="overlap", can="infer confusion monotone"),
    _card("m3v", "spectral:M3V", "voting", "weights that maximise the margin of the winning class",
          "Tian & Zhu 2015, NeurIPS 28", can="infer single"),
])

# Methods for tasks with links
GRAPHS: dict[str, Card] = dict([
    _card("graph_field", "GraphField", "graphs", "linked tasks tend to have one class, by a centred mean field",
          "Traganitis & Giannakis 2022", needs="links", can="confusion"),
])

# Methods for judges, for votes with predictions of the other votes, and for tasks without a single truth
JUDGES: dict[str, Card] = dict([
    _card("judge_stack", "JudgeStack", "judges", "one weight per judge, learnt on gold labels",
          "Wolpert 1992, doi:10.1016/S0893-6080(05)80023-1", needs="gold", can="infer"),
    _card("judge_symbols", "JudgeSymbols", "judges", "labels and their strength as one symbol, by EM",
          "Dawid & Skene 1979, doi:10.2307/2346806", can="confusion monotone"),
    _card("family_vote", "FamilyVote", "judges", "each family of judges has one vote", "folklore", can="single"),
    _card("surprisingly_popular", "SurprisinglyPopular", "predictions",
          "the answer that is given more often than predicted", "Prelec, Seung & McCoy 2017, doi:10.1038/nature21054",
          needs="predictions"),
    _card("truth_serum", "TruthSerum", "predictions", "the answer with the highest information score",
          "Prelec 2004, doi:10.1126/science.1102081", needs="predictions"),
    _card("subjective", "Subjective", "voting", "the distribution of the workers' labels, no single truth",
          "Uma et al. 2021, doi:10.1613/jair.1.12752", can="single"),
])
# fmt: on

METHODS: dict[str, Card] = {**CLASSES, **JUDGES}
