"""Builds the documentation site: pages that are written by a command, links to the files of the root, llms.txt.

`mkdocs.yml` names the pages of `docs/`; `hooks.py` adds what is generated. `make docs` builds the site.
"""
