"""Methods for answers that come with predictions of what the others will say."""
