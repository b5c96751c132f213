"""crowd-kit's aggregators of comparisons, texts, masks and label sets, beside their faces here and our defaults."""
