"""crowd-kit 1.4.2's names over crowdwise's kernels: `crowdkit.` becomes `crowdwise.compat.crowdkit.` in imports.

The only room that imports pandas, which is crowd-kit's language for tables."""
