"""More votes than memory: files to parts on disk, a fit over them, and results that are read as they are needed."""
