"""Tables: where they are, and their cells."""
