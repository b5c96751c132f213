"""cleanlab.internal: what cleanlab's pages send users of several annotators to."""
