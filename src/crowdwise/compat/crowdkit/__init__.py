"""crowd-kit 1.4.2's names over crowdwise's kernels: `crowdkit.` becomes `crowdwise.compat.crowdkit.` in imports.

Inputs and outputs are pandas objects, as in crowd-kit."""
