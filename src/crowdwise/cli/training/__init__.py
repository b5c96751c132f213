"""Commands that train nets and predict with them: train and predict."""
