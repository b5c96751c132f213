"""python -m crowdwise.cli: the same as the command crowdwise."""

from . import main

main()
