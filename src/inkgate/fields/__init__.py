"""Values out of documents: what a field may be, where it stands on the page, and whether it can be trusted. Pure."""
