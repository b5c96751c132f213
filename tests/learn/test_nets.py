"""Nets by name: shapes, small images, frozen backbones, and errors that say what to do."""

from __future__ import annotations

from itertools import pairwise

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from crowdwise.core.errors import ParameterError  # noqa: E402
from crowdwise.learn.nets import Frozen, cnn, linear, make_net, mlp  # noqa: E402
from crowdwise.learn.nets.images import (  # noqa: E402
    resnet18,
    resnet50,
    vgg16,
)
from crowdwise.learn.probe import last_linear  # noqa: E402


@pytest.mark.parametrize("name", ["linear", "mlp", "cnn"])
@pytest.mark.parametrize("shape", [(8, 8), (28, 28), (1, 28, 28), (3, 32, 32), (3, 20, 33)])
def test_images_of_any_size_give_logits(name, shape):
    net = make_net(name, shape, 5)
    assert net(torch.zeros(2, *shape)).shape == (2, 5)
    assert last_linear(net).out_features == 5


def test_rows_of_numbers_give_logits():
    for name in ("linear", "mlp"):
        assert make_net(name, (7,), 3)(torch.zeros(4, 7)).shape == (4, 3)


@pytest.mark.parametrize("make", [vgg16, resnet18, resnet50])
@pytest.mark.parametrize("shape", [(3, 32, 32), (28, 28), (1, 8, 8), (3, 96, 80)])
def test_narrow_versions_of_the_large_nets_learn(make, shape):
    torch.manual_seed(0)
    net = make(shape, 4, width=4)
    logits = net(torch.randn(2, *shape))
    assert logits.shape == (2, 4)
    logits.square().sum().backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in net.parameters())


def count(net):
    return sum(p.numel() for p in net.parameters())


def test_sizes_are_those_of_the_papers():
    """Parameters counted by hand from the published layers, on CIFAR-10."""
    assert count(make_net("resnet18", (3, 32, 32), 10)) == 11_173_962
    assert count(make_net("resnet50", (3, 32, 32), 10)) == 23_520_842
    convolutions = [3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512]
    expected = sum(9 * a * b + 2 * b for a, b in pairwise(convolutions)) + 512 * 10 + 10
    assert count(make_net("vgg16", (3, 32, 32), 10)) == expected


def test_the_cnn_is_the_published_one_where_the_image_allows_it():
    """150 × 150 images, no padding: 74, 36, 17, 7 a side; smaller images are padded."""
    net = cnn((3, 150, 150), 2)
    convolutions = [layer for layer in net if isinstance(layer, nn.Conv2d)]
    assert [c.out_channels for c in convolutions] == [32, 32, 64, 64]
    assert {c.padding for c in convolutions} == {(0, 0)}
    assert last_linear(net).in_features == 128
    assert next(layer for layer in net[-1] if isinstance(layer, nn.Linear)).in_features == 64 * 7 * 7
    assert {c.padding for c in cnn((3, 32, 32), 2) if isinstance(c, nn.Conv2d)} == {(1, 1)}


def test_tannos_net_averages_over_places():
    net = cnn((28, 28), 10, pools=2, hidden=(), average=True)
    assert last_linear(net).in_features == 64
    assert net(torch.zeros(3, 28, 28)).shape == (3, 10)


def test_a_frozen_backbone_stays_as_it_is():
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Flatten(), nn.Linear(6, 4), nn.BatchNorm1d(4))
    before = {name: value.clone() for name, value in backbone.state_dict().items()}
    net = Frozen(backbone, linear((4,), 3))
    net.train()
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=1.0)
    head = last_linear(net).weight.clone()
    net(torch.randn(8, 6)).square().sum().backward()
    optimizer.step()
    assert all(torch.equal(value, before[name]) for name, value in backbone.state_dict().items())
    assert not torch.equal(head, last_linear(net).weight)
    assert last_linear(net).out_features == 3


def test_batch_norm_stands_before_every_linear_layer():
    kinds = [type(layer).__name__ for layer in mlp((5,), 2, hidden=(4,), batch_norm=True)]
    assert kinds == ["Flatten", "BatchNorm1d", "Linear", "ReLU", "Dropout", "BatchNorm1d", "Linear"]


def test_what_cannot_be_made_is_said():
    with pytest.raises(ParameterError, match="there is no net 'vgg'"):
        make_net("vgg", (3, 32, 32), 10)
    with pytest.raises(ParameterError, match="takes images"):
        make_net("cnn", (20,), 2)
    with pytest.raises(ParameterError, match="has no 'hidden'"):
        make_net("linear", (20,), 2, hidden=(5,))
