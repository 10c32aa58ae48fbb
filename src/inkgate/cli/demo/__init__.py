"""`inkgate demo`: complete examples with sample documents, on the same parts that users put together themselves."""
