"""vLLM's scheduler (V1) as a pure model: continuous batching, chunked prefill, a paged KV cache, preemption.

As in vLLM: running sequences go first, in order of arrival, each with its remaining tokens (one while it decodes).
Then, if none was preempted, waiting sequences start in order of arrival while seats, batched tokens and free blocks
last. If a block is missing, the latest sequence is preempted: its blocks are freed, and it is recomputed from the front
of the queue. A Batch has no clock: its owner decides how long a step takes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.simulate.workload import PageWork


@dataclass(frozen=True, slots=True)
class Flags:
    """vLLM's flags, with its defaults for a card under 70 GiB.

    Attributes:
        max_num_queued_reqs: maximum number of requests before the next is refused; None: no maximum.
    """

    max_num_seqs: int = 256
    max_num_batched_tokens: int = 2048
    block_size: int = 16
    max_num_queued_reqs: int | None = None


@dataclass(slots=True, eq=False)
class Sequence:
    """A page in the engine.

    Attributes:
        computed: number of tokens whose keys and values are in its blocks.
        made: number of output tokens so far.
        on_tokens: called with `made` from time to time, at least once for each block.
    """

    page: PageWork
    on_tokens: Callable[[int], None] | None = None
    computed: int = 0
    made: int = 0
    blocks: int = 0
    gone: bool = False

    @property
    def pending(self) -> int:
        """Tokens to compute before the next output token."""
        return self.page.image_tokens + self.made - self.computed


@dataclass(slots=True)
class Step:
    """Plan of the next step, which may be repeated `repeats` times.

    Attributes:
        decoding: number of sequences that get a token; prefilled: number of prompt tokens to compute.
    """

    chunks: list[tuple[Sequence, int]] = field(default_factory=list)
    decoding: int = 0
    prefilled: int = 0
    repeats: int = 1


class Batch:
    """All sequences of one engine. `schedule` plans a step, `commit` runs it; `finished` has completed sequences."""

    def __init__(self, flags: Flags, kv_tokens: int) -> None:
        self.flags = flags
        self.blocks = kv_tokens // flags.block_size
        self.free = self.blocks
        self.running: list[Sequence] = []
        self.preemptions = 0
        self.tokens = 0
        self.waiting = 0
        self._queue: deque[Sequence] = deque()

    @property
    def kv_usage(self) -> float:
        """Share of the blocks in use, 0 to 1."""
        return 1 - self.free / self.blocks

    def fits(self, page: PageWork) -> bool:
        """Whether the page fits into the empty engine."""
        return self._blocks_for(page.image_tokens + page.output_tokens) <= self.blocks

    def add(self, sequence: Sequence) -> None:
        """Queues a sequence, which must fit."""
        self._queue.append(sequence)
        self.waiting += 1

    def drop(self, sequence: Sequence) -> None:
        """Removes a sequence and frees its blocks."""
        if sequence.gone:
            return
        sequence.gone = True
        if sequence in self.running:
            self.running.remove(sequence)
            self._release(sequence)
        else:
            self.waiting -= 1

    def schedule(self) -> Step:
        """The next step; without chunks if there is nothing to do."""
        step = Step()
        preemptions = self.preemptions
        budget = self._continue_running(step, self.flags.max_num_batched_tokens)
        if self.preemptions == preemptions:
            self._admit(step, budget)
        for sequence, tokens in step.chunks:
            if sequence.pending == 1:
                step.decoding += 1
            else:
                step.prefilled += tokens
        if step.chunks and not step.prefilled:
            step.repeats = self._steps_alike(step)
        return step

    def commit(self, step: Step, repeats: int) -> list[Sequence]:
        """Runs the step `repeats` times (at most `step.repeats`). Returns the completed sequences."""
        finished = []
        for sequence, tokens in step.chunks:
            if sequence.gone:
                continue
            sequence.computed += tokens * repeats
            self._grow(sequence, sequence.computed)
            if sequence.pending <= 0:
                sequence.made += repeats
                self.tokens += repeats
                if sequence.made >= sequence.page.output_tokens:
                    finished.append(sequence)
        for sequence in finished:
            self.drop(sequence)
        return finished

    def _continue_running(self, step: Step, budget: int) -> int:
        """Plans running sequences, preempting from the end. Returns the tokens left."""
        index = 0
        while index < len(self.running) and budget > 0:
            sequence = self.running[index]
            tokens = min(sequence.pending, budget)
            while not self._grow(sequence, sequence.computed + tokens):
                if self._preempt_latest() is sequence:
                    break
            else:
                step.chunks.append((sequence, tokens))
                budget -= tokens
                index += 1
        return budget

    def _admit(self, step: Step, budget: int) -> None:
        while self._queue and budget > 0 and len(self.running) < self.flags.max_num_seqs:
            sequence = self._queue[0]
            if sequence.gone:
                self._queue.popleft()
                continue
            if self._blocks_for(sequence.pending) > self.free:
                break  # vLLM reserves blocks for the whole prompt before it starts a sequence
            self._queue.popleft()
            self.waiting -= 1
            self.running.append(sequence)
            tokens = min(sequence.pending, budget)
            self._grow(sequence, tokens)
            step.chunks.append((sequence, tokens))
            budget -= tokens

    def _steps_alike(self, step: Step) -> int:
        """How often a decoding-only step can repeat before a sequence ends or blocks run out."""
        steps = min(sequence.page.output_tokens - sequence.made for sequence, _ in step.chunks)
        size = self.flags.block_size
        if self.free >= len(step.chunks) * (steps // size + 1):
            return steps
        return min(steps, *(sequence.blocks * size - sequence.computed for sequence, _ in step.chunks))

    def _preempt_latest(self) -> Sequence:
        sequence = self.running.pop()
        self._release(sequence)
        sequence.computed = 0
        self._queue.appendleft(sequence)
        self.waiting += 1
        self.preemptions += 1
        return sequence

    def _grow(self, sequence: Sequence, tokens: int) -> bool:
        """Allocates blocks for `tokens`; False if too few are free."""
        more = self._blocks_for(tokens) - sequence.blocks
        if more <= 0:
            return True
        if more > self.free:
            return False
        self.free -= more
        sequence.blocks += more
        return True

    def _release(self, sequence: Sequence) -> None:
        self.free += sequence.blocks
        sequence.blocks = 0

    def _blocks_for(self, tokens: int) -> int:
        return -(-tokens // self.flags.block_size)
