"""Inputs of a net other than one array: dicts of arrays, Datasets with their own collate and loader, clean rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, default_collate

from ...core.errors import CrowdwiseWarning, DataError, ParameterError
from ...core.faults import caller_level

# Options of a DataLoader that are decided here: the batches are those of the training.
_OWN = ("dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "collate_fn", "drop_last", "generator")


@dataclass(frozen=True, eq=False)
class Inputs:
    """Rows for training, the same rows for evaluation, E-steps and predictions, and how a Dataset is read.

    `x` and `eval_x` are tensors or Datasets (`as_features`); `loader` holds options of torch's DataLoader, `collate`
    makes a batch of a list of rows.
    """

    x: Any
    eval_x: Any = None
    loader: Mapping[str, Any] = field(default_factory=dict)
    collate: Callable[[list[Any]], Any] | None = None

    def __post_init__(self) -> None:
        if self.eval_x is not None and len(self.eval_x) != len(self.x):
            raise DataError(
                f"eval_X has {len(self.eval_x):,} rows, X has {len(self.x):,}; eval_X holds the same rows without "
                "augmentation"
            )
        for name in self.loader:
            if name in _OWN:
                raise ParameterError(
                    f"loader cannot set {name!r}; fit decides it (collate= and batch_size= are its own)"
                )
        if self.loader and isinstance(self.x, Tensor):
            raise ParameterError("loader= is for a Dataset; an array is read without a loader")

    def batches(self, rows: list[Tensor], *, clean: bool = False, seed: int = 0) -> Iterator[Any]:
        """The inputs of each of these groups of rows."""
        source = self.x if self.eval_x is None or not clean else self.eval_x
        if not self.loader or not isinstance(source, Dataset) or hasattr(source, "take"):
            for group in rows:
                yield self.take(group, clean=clean)
            return
        try:
            yield from DataLoader(
                source,
                batch_sampler=[group.tolist() for group in rows],
                collate_fn=self.collate or collate_rows,
                generator=torch.Generator().manual_seed(seed),
                **self.loader,
            )
        except TypeError as error:
            raise ParameterError(f"loader: {error}") from None

    def take(self, rows: Tensor, *, clean: bool = False) -> Any:
        """The inputs of these rows."""
        source = self.x if self.eval_x is None or not clean else self.eval_x
        if isinstance(source, Tensor):
            return source[rows]
        if hasattr(source, "take"):
            return source.take(rows)
        return (self.collate or collate_rows)([source[int(i)] for i in rows])

    def is_random(self, row: int) -> bool:
        """Whether a Dataset gives other values when a row is read again, as one that augments does."""
        if isinstance(self.x, Tensor) or hasattr(self.x, "take") or self.eval_x is not None:
            return False
        rows = torch.tensor([row])
        first, second = leaves(self.take(rows)), leaves(self.take(rows))
        return any(a.shape != b.shape or not bool((a == b).all()) for a, b in zip(first, second, strict=True))


def warn_of_augmentation(inputs: Inputs) -> None:
    """Warn if rows of the training are random and would also be used for evaluation."""
    if len(inputs.x) and inputs.is_random(0):
        warnings.warn(
            "the Dataset X gives other values when its first row is read again, as augmentation does; the held-out "
            "score, E-steps and the result use these rows, too: pass the rows without augmentation as eval_X=",
            CrowdwiseWarning,
            stacklevel=caller_level(),
        )


def collate_rows(items: list[Any]) -> Any:
    """A batch of rows: of a tuple or list the first part, which is the input; dicts stay dicts."""
    batch = default_collate([item[0] if isinstance(item, tuple | list) else item for item in items])
    if not leaves(batch):
        raise DataError(f"the dataset must yield tensors or arrays of features, got {type(items[0]).__name__}")
    return batch


class TableOfArrays(Dataset[Any]):
    """A dict of arrays of one length, such as a tokenizer's output; a batch is a dict of their rows."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self.arrays = {name: torch.as_tensor(values) for name, values in arrays.items()}
        sizes = {name: len(values) for name, values in self.arrays.items()}
        if len(set(sizes.values())) != 1:
            raise DataError(f"the arrays of X need one length, got {sizes}")

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    def __getitem__(self, row: int) -> dict[str, Tensor]:
        return {name: values[row] for name, values in self.arrays.items()}

    def take(self, rows: Tensor) -> dict[str, Tensor]:
        """These rows."""
        return {name: values[rows] for name, values in self.arrays.items()}


class Rows(Dataset[Any]):
    """Anything with a length and rows by number, such as a Dataset of Hugging Face."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> Any:
        return self.rows[row]


# ----------------------------------------------------------------
# Trees of tensors: a tensor, or a dict, list or tuple of trees.


def map_tree(function: Callable[[Tensor], Any], tree: Any) -> Any:
    """The tree with the function applied to its tensors."""
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, Mapping):
        return {name: map_tree(function, part) for name, part in tree.items()}
    if isinstance(tree, tuple | list):
        return [map_tree(function, part) for part in tree]
    return tree


def leaves(tree: Any) -> list[Tensor]:
    """The tensors of a tree."""
    if isinstance(tree, Tensor):
        return [tree]
    parts = tree.values() if isinstance(tree, Mapping) else tree if isinstance(tree, tuple | list) else ()
    return [leaf for part in parts for leaf in leaves(part)]


def n_rows(tree: Any) -> int:
    """The number of rows of a batch of inputs."""
    return len(leaves(tree)[0])
