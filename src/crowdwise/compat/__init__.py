"""Drop-in replacements for other libraries: only the import changes. See docs/migrating.md."""
