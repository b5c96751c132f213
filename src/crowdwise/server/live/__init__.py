"""The state that follows from the log: names and codes, the session that decides, leases, snapshots."""
