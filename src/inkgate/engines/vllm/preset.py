"""Preset: all that is particular to one vision-language model, as values.

Another model is another module in `presets/`, or a file of the user's own; nothing else changes
(docs/guides/choosing-a-model.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from inkgate.engines.vllm.images import ImageLimits
from inkgate.engines.vllm.parsers.answer import Parser
from inkgate.errors import InputRejected
from inkgate.types import BlockType, TaskKind

FIELDS = "{fields}"
"""Stands in a prompt for the names of the fields to extract: 'name','date'."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen, named as in a chat request to vLLM; None is not sent. `extra`: other fields, as they are.

    Penalties change what is read and belong to the model: vendors' values are not to be mixed.
    """

    temperature: float | None = 0.0
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    skip_special_tokens: bool | None = None
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def most_tokens(self) -> int | None:
        """The most tokens of an answer, whichever of the two fields says so."""
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens

    def as_request(self) -> dict[str, object]:
        """The fields of a chat request."""
        values = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "extra"}
        return {name: value for name, value in values.items() if value is not None} | dict(self.extra)


@dataclass(frozen=True, slots=True)
class TaskPrompt:
    """How a model is asked for one thing.

    Attributes:
        prompt: verbatim; `{fields}` in it stands for the names of the fields to extract.
        parser: what makes an Answer of the model's text.
        sampling, limits: instead of the preset's.
        languages: prompts by the language to translate into (ISO 639-1), instead of `prompt`.
    """

    prompt: str
    parser: Parser
    sampling: Sampling | None = None
    limits: ImageLimits | None = None
    languages: Mapping[str, str] = field(default_factory=dict)

    def filled(self, names: Sequence[str] = (), language: str | None = None) -> str:
        """The prompt with the fields' names, in the wording for the language.

        Raises:
            InputRejected: `options_invalid`: no field is named where one must be, or the language is not known.
        """
        text = self.prompt
        if self.languages:
            if language is None or language not in self.languages:
                raise InputRejected("options_invalid", f"translation is into one of: {', '.join(self.languages)}")
            text = self.languages[language]
        if FIELDS not in text:
            return text
        if not names:
            raise InputRejected("options_invalid", "name at least one field to extract")
        quoted = ",".join("'" + " ".join(name.replace("'", "’").split()) + "'" for name in names)
        return text.replace(FIELDS, quoted)


@dataclass(frozen=True, slots=True)
class PromptPlan:
    """One request to the model, but for the image: the prompt as it is sent, and how to read the answer."""

    prompt: str
    parser: Parser
    sampling: Sampling
    limits: ImageLimits

    def reduced(self, scale: float, most_tokens: int | None) -> PromptPlan:
        """The plan with sides of the largest image `scale` times as long, and answers of `most_tokens` at most."""
        plan = self if scale == 1.0 else replace(self, limits=self.limits.shrunk(scale))
        if most_tokens is None:
            return plan
        most = min(most_tokens, self.sampling.most_tokens or most_tokens)
        if self.sampling.max_completion_tokens is None:
            return replace(plan, sampling=replace(self.sampling, max_tokens=most))
        return replace(plan, sampling=replace(self.sampling, max_completion_tokens=most))

    def as_request(self) -> dict[str, object]:
        """The fields of a chat request besides `model` and `messages`."""
        request = self.sampling.as_request()
        if self.limits.sent:
            pixels = {"min_pixels": self.limits.min_pixels, "max_pixels": self.limits.max_pixels}
            request["mm_processor_kwargs"] = pixels
        return request


@dataclass(frozen=True, slots=True)
class RetryStep:
    """A retry after the model repeated itself: what changes. `scale`: of the sides of the largest image."""

    temperature: float | None = None
    scale: float = 1.0

    def applied(self, plan: PromptPlan) -> PromptPlan:
        """The plan as it is tried on this step."""
        sampling = plan.sampling
        if self.temperature is not None:
            sampling = replace(sampling, temperature=self.temperature)
        limits = plan.limits if self.scale == 1.0 else plan.limits.shrunk(self.scale)
        return replace(plan, sampling=sampling, limits=limits)


@dataclass(frozen=True, slots=True)
class Launch:
    """How vLLM is started for the model.

    Attributes:
        model: name on the model hub; None where only a folder can be given.
        flags: of the model's recipe, as they stand on the command line.
        newer_flags: flags without a value that older versions of vLLM don't have, and don't need: where vLLM says that
            it doesn't know one, it is started without it.
        max_model_len: None: as the model's configuration says.
    """

    model: str | None
    flags: tuple[str, ...] = ()
    max_model_len: int | None = None
    gpu_memory_utilization: float = 0.9
    max_num_seqs: int = 16
    newer_flags: tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        """The flags of vLLM's server, without the model, its name and the address."""
        length = [] if self.max_model_len is None else ["--max-model-len", str(self.max_model_len)]
        memory = ["--gpu-memory-utilization", f"{self.gpu_memory_utilization:g}"]
        return [*self.flags, *self.newer_flags, *length, *memory, "--max-num-seqs", str(self.max_num_seqs)]


@dataclass(frozen=True, slots=True)
class Preset:
    """One model.

    Attributes:
        name: stable and short: `hunyuanocr-1.5`.
        served_names: what servers call it; the first is what a server of ours calls it.
        tasks: what it can do.
        limits, sampling: of every task that has none of its own.
        launch: how vLLM is started for it.
        aliases: other short names, such as that of the family for its newest member.
        system: the system message; None: none is sent; an empty one is sent as it is.
        image_first: whether the image goes before the text.
        elements: how each type of block is read, element by element; None where pages are read whole.
            Blocks of types that are not in it are not read (figures).
        classes: how blocks are read that the layout model has a name of its own for, such as `chart`: by a task, or by
            a prompt of `others`. Before `elements`.
        others: prompts of the model that no TaskKind stands for, by the model's own names.
        retries: what is tried, in this order, after the model repeated itself.
    """

    name: str
    served_names: tuple[str, ...]
    tasks: Mapping[TaskKind, TaskPrompt]
    limits: ImageLimits
    sampling: Sampling
    launch: Launch
    aliases: tuple[str, ...] = ()
    system: str | None = None
    image_first: bool = True
    elements: Mapping[BlockType, TaskKind] | None = None
    classes: Mapping[str, TaskKind | str] = field(default_factory=dict)
    others: Mapping[str, TaskPrompt] = field(default_factory=dict)
    retries: tuple[RetryStep, ...] = (RetryStep(temperature=0.2), RetryStep(temperature=0.5), RetryStep(scale=0.7))

    def __post_init__(self) -> None:
        if not self.name or not self.served_names:
            raise ValueError("a preset has a name, and at least one name that servers call the model")
        unread = {kind for kind in (self.elements or {}).values() if kind not in self.tasks}
        if unread:
            raise ValueError(f"{self.name}: elements are read as {', '.join(sorted(unread))}, which are not in tasks")
        unknown = {name for name in self.classes.values() if name not in self.tasks and name not in self.others}
        if unknown:
            raise ValueError(f"{self.name}: classes are read as {', '.join(sorted(unknown))}, which it doesn't have")

    @property
    def names(self) -> tuple[str, ...]:
        """Everything it can be looked up by."""
        return (self.name, *self.aliases, *self.served_names)

    def names_on_server(self, model: str) -> tuple[str, ...]:
        """What a server may call it: `model`, where the settings name it."""
        return (model,) if model else self.served_names

    @property
    def largest_images(self) -> ImageLimits:
        """The limits of the task that takes the largest images, as they are without its doubling of small ones."""
        tasks = (*self.tasks.values(), *self.others.values())
        limits = [self.limits, *(task.limits for task in tasks if task.limits is not None)]
        return replace(max(limits, key=lambda each: each.max_pixels), double_under=None)

    def plan(self, kind: TaskKind, names: Sequence[str] = (), language: str | None = None) -> PromptPlan:
        """How the model is asked to do `kind`. `names`: of the fields to extract; `language`: to translate into.

        Raises:
            InputRejected: `task_unsupported` where the model can't, `options_invalid` of the other arguments.
        """
        if kind not in self.tasks:
            raise InputRejected("task_unsupported", f"{self.name} can't do {kind}; it does: {', '.join(self.tasks)}")
        return self._planned(self.tasks[kind], names, language)

    def other_plan(self, name: str) -> PromptPlan:
        """How the model is asked with a prompt of its own that no TaskKind stands for. Raises as `plan`."""
        if name not in self.others:
            known = ", ".join(self.others) or "nothing besides the tasks"
            raise InputRejected("task_unsupported", f"{self.name} has no prompt {name!r}; it has: {known}")
        return self._planned(self.others[name], (), None)

    def element_plan(self, block_type: BlockType, label: str = "") -> PromptPlan | None:
        """How a block is read that the layout model calls `label`; None where it isn't."""
        name = self.classes.get(label)
        if name is not None:
            return self.plan(TaskKind(name)) if name in self.tasks else self.other_plan(name)
        kind = (self.elements or {}).get(block_type)
        return None if kind is None else self.plan(kind)

    def within(self, max_pixels: int) -> Preset:
        """The same with images of at most so many pixels, of every task; never under a task's least. 0: as it is."""
        if not max_pixels:
            return self

        def smaller(task: TaskPrompt) -> TaskPrompt:
            return task if task.limits is None else replace(task, limits=task.limits.within(max_pixels))

        return replace(
            self,
            limits=self.limits.within(max_pixels),
            tasks={kind: smaller(task) for kind, task in self.tasks.items()},
            others={name: smaller(task) for name, task in self.others.items()},
        )

    def messages(self, prompt: str, image_url: str) -> list[dict[str, object]]:
        """The messages of a chat request with one image, in the order the model was trained on."""
        image: dict[str, object] = {"type": "image_url", "image_url": {"url": image_url}}
        text: dict[str, object] = {"type": "text", "text": prompt}
        content = [image, text] if self.image_first else [text, image]
        user: dict[str, object] = {"role": "user", "content": content}
        return [user] if self.system is None else [{"role": "system", "content": self.system}, user]

    def _planned(self, task: TaskPrompt, names: Sequence[str], language: str | None) -> PromptPlan:
        return PromptPlan(
            prompt=task.filled(names, language),
            parser=task.parser,
            sampling=task.sampling or self.sampling,
            limits=task.limits or self.limits,
        )
