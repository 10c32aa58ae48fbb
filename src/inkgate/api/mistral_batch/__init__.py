"""`/v1/batch/jobs`, Mistral's batches of `/v1/ocr`. Each line of a batch is a job of `/v1/jobs`.

A batch needs no place of its own in the store: its jobs are added in one transaction, so their IDs begin with the same
time, and each has the batch's token, its line and the line's options in `JobOptions.form`.

Differences: only `/v1/ocr`; at most 1,000 lines; a line that is invalid refuses the batch; files are made when they are
downloaded; lists have the batches among the caller's latest 5,000 jobs.
"""
