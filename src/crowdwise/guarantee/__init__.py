"""What may be promised: figures with intervals from few gold labels, tasks that need no person, label sets, plans."""
