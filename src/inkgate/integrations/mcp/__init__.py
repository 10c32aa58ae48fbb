"""A server of the Model Context Protocol: agents read documents, find fields and search, by tools and resources."""
