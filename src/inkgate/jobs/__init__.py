"""Jobs: documents that are read later, by any process that shares the store, and whose results are kept."""
