"""The live state derived from the log: names and codes, the session, leases, snapshots."""
