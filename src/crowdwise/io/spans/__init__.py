"""Files of spans: CoNLL columns, tables of tokens, and what exports of spans have in common."""
