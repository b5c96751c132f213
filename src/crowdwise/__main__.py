"""python -m crowdwise, the same as the command crowdwise."""

from .cli import main

main()
