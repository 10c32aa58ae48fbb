"""A bot for Feishu and Lark: reads the documents that people send it, with jobs of a running service."""
