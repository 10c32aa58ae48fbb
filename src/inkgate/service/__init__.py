"""The service in front of an engine. `page` is the way of one page; the other modules are its parts."""
