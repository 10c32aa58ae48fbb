"""Whole folders and buckets, read in shards that can be read anywhere, in any order, and again."""
