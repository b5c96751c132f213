"""Workers who ranked items."""
