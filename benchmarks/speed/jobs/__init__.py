"""What is measured: each job runs in a process of its own (see ../child.py) and imports only what it measures."""
