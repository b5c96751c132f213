"""Learning from numbers: the crowd as tensors, workers as lines, what a method must say, what comes out."""
