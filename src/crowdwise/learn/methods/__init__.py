"""One module per method; `crowdwise.registry.LEARNERS` names them all."""
