"""The cards of all methods: static tables, one for each kind of answer and one for training."""
