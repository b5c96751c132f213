"""Training in the tests uses torch's own kernels.

oneDNN compiles its kernels at run time, which fails on some machines in a process that has run for long ("could not
create a primitive"). What is tested here is this package's arithmetic, whichever kernels multiply matrices.
"""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _without_onednn(monkeypatch):
    mkldnn = pytest.importorskip("torch").backends.mkldnn
    monkeypatch.setattr(mkldnn, "enabled", False)
