"""Results out: where the results of jobs are delivered."""
