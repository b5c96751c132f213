"""Lines drawn on images, as a kind of answers that the package does not have.

The folder is laid out as those in `crowdwise.kinds`; nothing outside it names the kind.
"""
