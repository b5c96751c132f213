"""What is seen only by fitting again: groups, outliers, the fit without some workers."""
