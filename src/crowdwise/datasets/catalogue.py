"""The catalogue: which standard data sets are known, what is in them, where they come from, under which terms.

The sets themselves are not part of crowdwise. Sizes count the rows of the labels file, before repeats are resolved;
the checksum is that of the unpacked labels file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..io.coding import Duplicates

Kind = Literal["truth", "subjective", "no truth"]


@dataclass(frozen=True)
class Card:
    """What is known of a data set.

    `kind`: "truth" (known independently of the labels), "subjective" (the truth file is an aggregate of the labels
    themselves, so that accuracy only tells how far a method is from the majority), or "no truth".
    """

    name: str
    kind: Kind
    n_tasks: int
    n_workers: int
    n_labels: int
    n_classes: int
    sha256: str
    about: str
    source: str
    licence: str
    duplicates: Duplicates = "last"


_AT_SCALE = "; github.com/yuan-li/truth-inference-at-scale"
_MMSR = "; github.com/maqqbu/MMSR"
_LEWIDI = "; github.com/Le-Wi-Di/le-wi-di.github.io"
_COLLECTION = "collection under MIT; none stated for the data itself"
_NONE = "none stated"
_RESEARCH = "none stated; for research"

CATALOGUE: dict[str, Card] = {
    card.name: card
    for card in [
        Card("anaesthetist", "no truth", 45, 5, 315, 4,
             "bc1b6f4a426bc16069ee9d582d535ee97cf8015b5b4722c34e3b31dc7c0b482e",
             "45 patients graded 1 to 4 by five anaesthetists, one of them three times",
             "Dawid & Skene 1979, Applied Statistics 28(1)", "published table of facts", duplicates="keep"),
        Card("bluebird", "truth", 108, 39, 4212, 2,
             "1a8850e0031b5629bb6c409c06462beeca176566bd7fde2fa4a6f523ee9ebb90",
             "photos of two blue birds, every worker saw every photo",
             "Welinder et al. 2010" + _AT_SCALE, _COLLECTION),
        Card("cf", "truth", 300, 461, 1720, 5,
             "3d52ec8063042689394e3a0a8306a91358bb35ca2c2908a3d9928c1c15d3b0ab",
             "sentiment of tweets about the weather",
             "CrowdScale 2013; Venanzi et al. 2014" + _AT_SCALE, _COLLECTION),
        Card("cifar10n", "truth", 50000, 3, 150000, 10,
             "da5259070ed037a7a134ea6567e4a54571c5149cef8c38aa51083c3825914112",
             "CIFAR-10 training images; the three workers are label sets, each by many people",
             "Wei et al. 2022; github.com/UCSC-REAL/cifar-10-100n", "labels CC BY-NC 4.0; images: no formal licence"),
        Card("convabuse", "subjective", 4050, 8, 12168, 2,
             "2304ad21921ce32a8967c848b62b49fa8b9831765a89933ef48e9227bcaac56f",
             "is this line to a chatbot abusive?",
             "Cercas Curry et al. 2021" + _LEWIDI, _RESEARCH),
        Card("dog", "truth", 807, 109, 8070, 4,
             "2a9b24b3afc5f7e5a5f12a8c59ac8b0493a5f175b2c7890a1e7e7dce691c4c99",
             "photos of four breeds of dog",
             "Zhou et al. 2012" + _AT_SCALE, _COLLECTION),
        Card("facteval", "truth", 42624, 57, 216725, 3,
             "fe495e515b584445d624f20e7659e2bfddf26028d6b0b921b5d0806c86e91fe3",
             "is this fact true: yes, no, skip; 576 tasks have a truth",
             "CrowdScale 2013" + _AT_SCALE, _COLLECTION),
        Card("hs_brexit", "subjective", 1120, 6, 6720, 2,
             "99ca539092b69f5bf7763abacbddbaecd003a693633bf53c986c66f898b0b4e7",
             "hate speech in tweets about Brexit, six annotators",
             "Akhtar et al. 2021" + _LEWIDI, _RESEARCH),
        Card("imagenet15", "truth", 2514, 100, 3191, 15,
             "6c5b04816143f0cb7be3279bc9e313ed00a7433cfe9514b31f04f64afc51398d",
             "photos of 15 classes that look alike, one to three labels each",
             "Nguyen et al. 2024; github.com/ductri/COINNet", _NONE),
        Card("labelme", "truth", 1000, 59, 2547, 8,
             "a839c2e331ab646a308b34c2a879c31ec42d89e1c66449d08adefbec09871478",
             "scenes of eight kinds, with VGG16 features and test photos",
             "Rodrigues & Pereira 2018; github.com/fmenat/PyLearningCrowds", _NONE),
        Card("md_agreement", "subjective", 10753, 819, 53765, 2,
             "8590ce9a0c971706d67480c1921a63ee76353bf02b622fe1436f72e706ac2696",
             "offensive tweets, five of several hundred annotators each",
             "Leonardelli et al. 2021" + _LEWIDI, _RESEARCH),
        Card("music", "truth", 700, 44, 2945, 10,
             "4e3ac5c2212b3e74d9a4783aa1edc9dc79c02ead580b6f877c0f92ee7d3a5693",
             "music clips of ten genres, with sound features and test clips",
             "Rodrigues et al. 2013; github.com/shahanaibrahimosu/end-to-end-crowdsourcing", _NONE),
        Card("relevance4", "truth", 20232, 766, 98453, 4,
             "e5f6727cf07bfa275f7cd7313b4eb26883d193d7bf082f78f41994af425d0240",
             "how relevant is a document, four grades; 4460 tasks have a truth",
             "Buckley et al. 2010" + _AT_SCALE, _COLLECTION),
        Card("restaurant", "truth", 2004, 37, 6012, 2,
             "2958e8fe8530f913173fc1b8b4e4d00a160bf346e8d62925d0586ff59fa64160",
             "do two records mean the same restaurant?",
             "Wang et al. 2012; github.com/zhydhkcws/crowd_truth_infer", _NONE),
        Card("rte", "truth", 800, 164, 8000, 2,
             "a1f3ac28fb965137ade5f5773e579a3ee1f4a735147e07ae39a3785be2e4bd4e",
             "does one sentence follow from the other?",
             "Snow et al. 2008" + _AT_SCALE, _COLLECTION),
        Card("rte_text", "truth", 800, 164, 8000, 2,
             "a1e4762bd4dda692890027ac4b47b2187b0f3aea6d323b923fbdea259332c807",
             "rte with its sentences and original ids",
             "Snow et al. 2008" + _MMSR, _NONE),
        Card("sentpol_text", "truth", 4999, 203, 27746, 2,
             "55f0ce72f4849b0fe5c4fc8ddb8fb01ae7b4330cfd925c6077190455b12ad22b",
             "sp with its sentences, and test sentences",
             "Rodrigues et al. 2013; github.com/fmenat/PyLearningCrowds", _NONE),
        Card("sp", "truth", 4999, 203, 27746, 2,
             "d969a7f3c1db01193b99a86996a89725aff07a33475dc7ef77cdcf86367ce551",
             "film review sentences, positive or negative",
             "Rodrigues et al. 2013" + _AT_SCALE, _COLLECTION),
        Card("sp_amt", "truth", 500, 143, 10000, 2,
             "8b965d00aea89d287428a20d492b827374732ecaf5202acc5e427c9f65b68699",
             "film review sentences, 500 of them, 20 labels each",
             "Venanzi et al. 2014" + _AT_SCALE, _COLLECTION),
        Card("temp", "truth", 462, 76, 4620, 2,
             "c2a541133babe74ef71a343ac9515fdce8653fdd454ee5c7b42eb0e949b7851b",
             "which of two events came first?",
             "Snow et al. 2008" + _MMSR, _NONE),
        Card("trec", "truth", 19033, 762, 88385, 2,
             "96f0baa54f5507cc89bdf9b3fcd9d09812829948b67e629c5be5daf77bccdf40",
             "is a document relevant? 2275 tasks have a truth",
             "Lease & Kazai 2011" + _AT_SCALE, _COLLECTION),
        Card("web", "truth", 2665, 177, 15567, 5,
             "4acaed3d2df4cbca48adfac54c4ba9e0911a2be542ef1c48108bad6723b8b670",
             "how relevant is a web page to a query, five grades",
             "Zhou et al. 2012" + _AT_SCALE, _COLLECTION),
        Card("wsd", "truth", 177, 34, 1770, 3,
             "c4e1eb8f80bbf2ba95a80c0c6fb6da62f870d1b8de34568efb607209608c6132",
             "three senses of the word president",
             "Snow et al. 2008" + _MMSR, _NONE),
        Card("zencrowd_in", "truth", 2040, 25, 11205, 2,
             "4ec8bc75b867bbea95aeed0f8fd06ecf2949b5da1825337da738920875d4f417",
             "does a link name the right entity? workers in India",
             "Demartini et al. 2012" + _AT_SCALE, _COLLECTION),
    ]
}  # fmt: skip

# Truth known independently of the crowd, and every crowd once (the _text sets repeat rte and sp).
INDEPENDENT: tuple[str, ...] = (
    "bluebird", "dog", "web", "rte", "temp", "wsd", "trec", "sp", "sp_amt", "labelme", "music", "imagenet15",
    "relevance4", "restaurant", "cf", "zencrowd_in", "facteval", "cifar10n",
)  # fmt: skip
