"""More votes than memory: the same answer, memory, speed, and peers on the same labels."""
