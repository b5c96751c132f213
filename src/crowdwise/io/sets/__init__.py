"""Files with what is known of label sets."""
