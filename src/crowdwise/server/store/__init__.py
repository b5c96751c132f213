"""Storage: tables, engines of SQLite and PostgreSQL, the log, and the lock of a folder."""
