-- The database of the shop. inkgate keeps its jobs in a database of its own beside it.
CREATE DATABASE shop;
\connect shop
CREATE TABLE receipts (
    object  TEXT PRIMARY KEY,
    content TEXT NOT NULL,
    pages   INTEGER,
    job     TEXT
);
