"""`/v1/batch/jobs`, Mistral's batches of `/v1/ocr`. Each line of a batch becomes a job of `/v1/jobs`, some at a time.

A batch is added in one transaction, so the IDs of its jobs begin with the same time, and each has the batch's token,
its line and the line's options in `JobOptions.form`. Lines that are no jobs yet are shown as jobs that wait.

Differences: only `/v1/ocr`; at most 1,000 lines; a line that is invalid refuses the batch; files are made when they are
downloaded; lists have the batches among the caller's latest 5,000 jobs and lines.
"""
