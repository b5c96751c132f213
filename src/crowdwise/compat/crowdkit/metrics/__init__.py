"""crowdkit.metrics: metrics of labels (`data`) and of workers (`workers`)."""
