"""Laws that every registered training method obeys; one is left out only by what the method or its card declares."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils.data import Dataset  # noqa: E402

from crowdwise.core import method_registry as registry  # noqa: E402
from crowdwise.kinds.classes.learn.tables import WorkerTable  # noqa: E402
from crowdwise.learn import Crowd, CrowdData, CrowdModel, train  # noqa: E402
from crowdwise.learn.optimizers import make_optimizers  # noqa: E402
from crowdwise.learn.training.sweep import sweep_both  # noqa: E402
from tests.data import ROOT  # noqa: E402

N, M, K, D, H = 23, 7, 3, 5, 4  # all different, so that a mixed-up axis shows

# Besides every method as it comes: its other forms.
FORMS = [
    ("vanilla", {"targets": "hard"}),
    ("vanilla", {"targets": "each"}),
    ("soft_bootstrap", {"detach": True, "targets": "hard"}),
    ("single_confusion", {"targets": "hard", "form": "softmax"}),
    *[("crowd_layer", {"kind": kind}) for kind in ("vw", "vb", "vwb", "s")],
    ("crowd_layer", {"start": "votes"}),
    ("ccem", {"start": "dawid_skene", "form": "softmax"}),
    ("trace", {"over": "sum", "start": "votes"}),
    ("log_trace", {"likelihood": "marginal"}),
    ("max_mig", {"divergence": "chi2"}),
    ("max_mig", {"divergence": "js", "prior": "learnt"}),
    ("instance_confusion", {"rank": 2}),
    ("conal", {"form": "softmax"}),
    ("union_net", {"form": "a"}),
    ("bayes_dgc", {"use_pi": True}),
    ("deep_bp", {"loss_on_clipped": True}),
    ("deep_bp", {"prior": "hammer_spammer"}),
    ("two_stage", {"aggregator": "majority_vote"}),
    ("mbem", {"rounds": 3}),
]
OF_CLASSES = sorted(name for name, card in registry.LEARNERS.items() if card.takes == "classes")
CASES = [*((name, {}) for name in OF_CLASSES), *FORMS]


def _name(case):
    return "-".join([case[0], *(str(value) for value in case[1].values())])


every = pytest.mark.parametrize("case", CASES, ids=_name)


def ragged(seed=0, k=K, n=N, m=M):
    """A crowd with one to four labels a task; task 0 and the last worker have none."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    rows = [
        (i, w, truth[i] if rng.random() < 0.7 else rng.integers(k))
        for i in range(1, n)
        for w in sorted(rng.choice(m - 1, rng.integers(1, 5), replace=False))
    ]
    return crowd_of(rows, n, m, k), truth


def crowd_of(rows, n, m, k):
    task, worker, label = (torch.tensor(column, dtype=torch.int64) for column in zip(*rows, strict=True))
    offset = torch.searchsorted(task, torch.arange(n + 1))
    return Crowd(n, m, k, task, worker, label, torch.ones(len(task)), offset)


class Doubles(Dataset):
    """Features that stay in double precision."""

    def __init__(self, x):
        self.x = torch.as_tensor(x, dtype=torch.float64)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i]


def features(truth, seed=0):
    rng = np.random.default_rng([seed, 1])
    return 2.0 * np.eye(max(D, truth.max() + 1))[truth][:, :D] + rng.normal(size=(len(truth), D))


def build(case, crowd, seed=0, n_features=D, hidden=H):
    """A small net and the method, both from one seed."""
    name, params = case
    home, _, cls = registry.learner(name).where.partition(":")
    found = getattr(__import__(home, fromlist=[cls]), cls)
    given = dict(params)
    if found.needs_features:
        given["n_features"] = hidden
    if "confusion" in registry.learner(name).needs:
        k = crowd.n_classes
        given["confusion"] = 0.7 * torch.eye(k) + 0.3 / k
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(n_features, hidden), nn.Tanh(), nn.Linear(hidden, crowd.n_classes))
    return CrowdModel(net, found(crowd, **given))


def posterior_of(model, data):
    return sweep_both(model, data)[1]


def loss_of(model, batch):
    return torch.stack(list(model(batch).values())).sum()


def short_training(model, data, epochs=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return train(model, data, optimizer=optimizer, epochs=epochs, batch_size=8)


def is_finite(model, batch):
    model.zero_grad()
    terms = model(batch)
    assert all(term.dim() == 0 and torch.isfinite(term) for term in terms.values()), terms
    torch.stack(list(terms.values())).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("name", OF_CLASSES)
def test_the_card_and_the_class_agree(name):
    card = registry.learner(name)
    home, _, cls = card.where.partition(":")
    found = getattr(__import__(home, fromlist=[cls]), cls)
    assert found.name == name
    assert found.__doc__
    assert card.paper
    kinds = {p.kind for p in list(inspect.signature(found).parameters.values())[1:]}
    assert kinds <= {inspect.Parameter.KEYWORD_ONLY}
    crowd, truth = ragged()
    model = build((name, {}), crowd)
    batch = CrowdData(features(truth), crowd).batch(torch.arange(N))
    with torch.no_grad():
        assert (model.method.confusion() is not None) == ("confusion" in card.can)
        assert (model.method.posterior(model.output(batch.x), batch) is not None) == ("forecast" in card.can)


def test_every_method_has_a_section_in_the_docs():
    page = (ROOT / "docs" / "learn" / "methods.md").read_text(encoding="utf-8")
    sections = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")]
    assert sections == sorted(registry.LEARNERS)


@every
@pytest.mark.parametrize("k", [2, 10])
def test_any_batch_will_do(case, k):
    """One task; one without labels; a ragged batch; after an E-step too."""
    crowd, truth = ragged(k=k)
    data = CrowdData(features(truth), crowd)
    model = build(case, crowd)
    for _ in range(2):
        for tasks in ([0], [3], [0, 5, 2], list(range(N))):
            is_finite(model, data.batch(torch.tensor(tasks)))
        short_training(model, data)


@every
def test_what_comes_out_are_distributions(case):
    crowd, truth = ragged()
    data = CrowdData(features(truth), crowd)
    model = build(case, crowd)
    short_training(model, data)
    posterior = posterior_of(model, data)
    assert posterior.shape == (N, K)
    torch.testing.assert_close(posterior.sum(1), torch.ones(N))
    with torch.no_grad():
        confusion = model.method.confusion()
    if confusion is not None:
        assert confusion.shape == (M, K, K)
        assert (confusion >= 0).all()
        torch.testing.assert_close(confusion.sum(2), torch.ones(M, K))


# Where a target is detached, the gradient is not the slope: that is what the parameter asks for.
@pytest.mark.parametrize("case", [case for case in CASES if "detach" not in case[1]], ids=_name)
def test_the_gradient_is_the_slope_of_the_loss(case):
    """Along two random directions of every parameter, in double precision, with targets that an E-step has stored."""
    crowd, truth = ragged()
    data = CrowdData(Doubles(features(truth)), crowd)
    model = build(case, crowd).double()
    short_training(model, data)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in model.parameters():  # away from zeros and ties, where a penalty may have a cusp
            p += 0.1 * torch.randn(p.shape, generator=generator, dtype=p.dtype)
    batch = data.batch(torch.arange(0, N, 2))
    model.zero_grad()
    loss_of(model, batch).backward()
    step = 1e-6
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        for _ in range(2):
            way = torch.randn(p.shape, generator=generator, dtype=p.dtype)
            with torch.no_grad():
                p += step * way
                up = loss_of(model, batch)
                p -= 2 * step * way
                down = loss_of(model, batch)
                p += step * way
            slope = 0.0 if p.grad is None else float((p.grad * way).sum())
            assert float(up - down) / (2 * step) == pytest.approx(slope, rel=1e-4, abs=1e-7), name


@every
def test_order_and_size_of_batches_do_not_change_a_posterior(case):
    crowd, truth = ragged()
    data = CrowdData(features(truth), crowd)
    model = build(case, crowd)
    short_training(model, data)
    whole = posterior_of(model, data)
    model.eval()
    order = torch.randperm(N, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        for tasks in order.split(5):
            batch = data.batch(tasks)
            out = model.output(batch.x)
            found = model.method.posterior(out, batch)
            found = model.method.classify(out).exp() if found is None else found
            torch.testing.assert_close(found, whole[tasks], atol=1e-5, rtol=1e-4)


def renamed(crowd, workers, classes):
    """The same labels where worker w is now workers[w] and class c is classes[c]."""
    return replace(crowd, worker=workers[crowd.worker], label=classes[crowd.label])


def carry(source, target, workers, classes):
    """Give `target` the parameters of `source`, renamed: for methods that begin at random."""
    state = source.state_dict()
    tables = {f"{name}.weight": t for name, t in source.named_modules() if isinstance(t, WorkerTable)}
    back = {M: torch.argsort(workers), K: torch.argsort(classes)}
    for name, value in state.items():
        axes = value.view(len(value), *tables[name].shape) if name in tables else value
        for axis, size in enumerate(axes.shape):
            if size in back:
                axes = axes.index_select(axis, back[size])
        state[name] = axes.reshape(value.shape)
    target.load_state_dict(state)


# With a rank, classes lie two by two in one axis of the heads: the renaming below does not find them.
RENAMED = [case for case in CASES if "rank" not in case[1]]


@pytest.mark.parametrize("what", ["classes", "workers"])
@pytest.mark.parametrize("case", RENAMED, ids=_name)
def test_new_names_change_nothing_but_names(case, what):
    """Training on renamed classes or workers, from the same net renamed, has the same losses and answers."""
    crowd, truth = ragged()
    workers = torch.tensor([3, 0, 5, 1, 6, 2, 4]) if what == "workers" else torch.arange(M)
    classes = torch.tensor([1, 2, 0]) if what == "classes" else torch.arange(K)
    x = Doubles(features(truth))
    one = build(case, crowd).double()
    other = build(case, renamed(crowd, workers, classes)).double()
    back = torch.argsort(classes)
    with torch.no_grad():
        for p in other.net[-1].parameters():
            p.copy_(p[back])
    if one.method.random_start:
        carry(one.method, other.method, workers, classes)
    data, again = CrowdData(x, crowd), CrowdData(x, renamed(crowd, workers, classes))
    losses, same = short_training(one, data, epochs=3), short_training(other, again, epochs=3)
    np.testing.assert_allclose(
        [row["loss"] for row in losses.rows], [row["loss"] for row in same.rows], rtol=1e-5, atol=1e-7
    )
    torch.testing.assert_close(posterior_of(one, data), posterior_of(other, again)[:, classes], atol=1e-4, rtol=0)


@every
def test_a_state_dict_is_the_whole_state(case):
    """A method built from the crowd's shape alone takes it all from the file."""
    crowd, truth = ragged()
    data = CrowdData(features(truth), crowd)
    model = build(case, crowd)
    short_training(model, data)
    other = build(case, Crowd.shape(M, K, N), seed=9)
    other.load_state_dict(model.state_dict())
    assert torch.equal(posterior_of(model, data), posterior_of(other, data))
    with torch.no_grad():
        one, two = model.method.confusion(), other.method.confusion()
    assert (one is None and two is None) or torch.equal(one, two)


def blobs(seed=0, n=240, m=8):
    """Four clouds far apart, three labels a task, skills .6 to .95."""
    rng = np.random.default_rng(seed)
    k = 4
    truth = rng.integers(k, size=n)
    x = 2.5 * rng.normal(size=(k, D))[truth] + 0.5 * rng.normal(size=(n, D))
    skill = np.linspace(0.6, 0.95, m)
    rows = []
    for i in range(n):
        for w in sorted(rng.choice(m, 3, replace=False)):
            rows.append((i, w, truth[i] if rng.random() < skill[w] else (truth[i] + rng.integers(1, k)) % k))
    return x, crowd_of(rows, n, m, k), torch.from_numpy(truth)


def trained(case, seed=0, epochs=15):
    x, crowd, truth = blobs()
    data = CrowdData(x, crowd)
    model = build(case, crowd, hidden=16)
    history = train(
        model, data, optimizer=make_optimizers(model, lr=1e-2, worker_lr=1e-2), epochs=epochs, batch_size=32, seed=seed
    )
    return model, data, history, truth


@every
def test_the_loss_falls_and_the_truth_comes_out(case):
    model, data, history, truth = trained(case)
    losses = [row["loss"] for row in history.rows]
    if not getattr(model.method, "warm_up", 0):  # while a warm-up lasts, another loss is minimised
        assert losses[-1] < losses[0]
    model.eval()
    with torch.no_grad():
        said = model.method.classify(model.output(data.take(torch.arange(len(data))))).argmax(1)
    assert float((said == truth).float().mean()) > 0.9
    assert float((posterior_of(model, data).argmax(1) == truth).float().mean()) > 0.85


@every
def test_one_seed_repeats_bit_by_bit_and_two_seeds_differ(case):
    one, two, three = (trained(case, seed=seed, epochs=3)[0].state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert any(not torch.equal(one[name], three[name]) for name in one)


def whole_and_part(case, rank, world):
    """Loss terms and gradients of this process's part of a batch; in a single process of all of it."""
    crowd, truth = ragged()
    data = CrowdData(features(truth), crowd, balance=True)
    model = build(case, crowd)
    with torch.no_grad():
        for number, p in enumerate(model.parameters()):
            p += 0.1 * torch.randn(p.shape, generator=torch.Generator().manual_seed(number))
    terms = model(data.batch(torch.tensor([4, 9, 0, 17, 12, 6, 21]), rank=rank, world=world))
    torch.stack(list(terms.values())).sum().backward()
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
    return torch.cat([torch.stack(list(terms.values())).detach(), *(g.reshape(-1) for g in gradients)])


def process(rank, world, where, answers):
    torch.set_num_threads(1)  # two processes share the machine
    wholes = [whole_and_part(case, 0, 1) for case in CASES]
    torch.distributed.init_process_group("gloo", init_method=f"file://{where}", rank=rank, world_size=world)
    bad = []
    for case, whole in zip(CASES, wholes, strict=True):
        total = whole_and_part(case, rank, world)
        torch.distributed.all_reduce(total)
        if not torch.allclose(total, whole, rtol=1e-3, atol=1e-5):
            bad.append((_name(case), float((total - whole).abs().max())))
    answers.put(bad)
    torch.distributed.destroy_process_group()


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch has no distributed package")
def test_the_parts_of_two_processes_add_up_to_the_whole(tmp_path):
    """Losses and gradients of every method, four tasks here and three there, one of them without labels."""
    context = torch.multiprocessing.get_context("spawn")
    answers = context.Queue()
    both = [context.Process(target=process, args=(rank, 2, tmp_path / "meet", answers)) for rank in range(2)]
    for one in both:
        one.start()
    found = [answers.get(timeout=240) for _ in both]
    for one in both:
        one.join()
    assert found == [[], []]
