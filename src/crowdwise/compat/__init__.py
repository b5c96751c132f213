"""Other libraries' doors into crowdwise: change the import, keep the code. See docs/migrating.md."""
