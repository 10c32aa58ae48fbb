"""The commands that inkgate-bench adds to the command line of inkgate."""
