"""Preset: everything specific to one vision-language model, as data.

To support another model, add a module in `presets/` or a file of your own; nothing else changes
(docs/guides/choosing-a-model.md).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Final

from inkgate.engines.vlm.answer_schema import FieldAnswer, answer_names, prompt_name
from inkgate.engines.vlm.images import ImageLimits
from inkgate.engines.vlm.parsers.answer import Parser
from inkgate.errors import InputRejected
from inkgate.model_servers.launch import Launch
from inkgate_client.types import BlockType, TaskKind

FIELDS = "{fields}"
"""Placeholder in a prompt for the names of the fields to extract: 'name','date'."""
FIELDS_JSON = "{fields_json}"
"""The same as an object to fill in: {"name": "", "date": ""}."""


ELEMENTS: Final = {
    BlockType.TITLE: TaskKind.PARSE,
    BlockType.TEXT: TaskKind.PARSE,
    BlockType.LIST: TaskKind.PARSE,
    BlockType.CAPTION: TaskKind.PARSE,
    BlockType.HEADER: TaskKind.PARSE,
    BlockType.FOOTER: TaskKind.PARSE,
    BlockType.REFERENCE: TaskKind.PARSE,
    BlockType.TABLE: TaskKind.TABLE,
    BlockType.FORMULA: TaskKind.FORMULA,
}
"""Tasks for the elements of a layout, of models that read text, tables and formulas apart."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters, named as in a chat request to vLLM; None is not sent. `extra`: other fields, sent unchanged.

    Penalties change the text that is read and are tuned per model: don't mix the vendors' values.
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
    def token_limit(self) -> int | None:
        """Maximum tokens of an answer, whichever of the two fields sets it."""
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens

    def as_request(self) -> dict[str, object]:
        """The fields of a chat request."""
        values = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "extra"}
        return {name: value for name, value in values.items() if value is not None} | dict(self.extra)


@dataclass(frozen=True, slots=True)
class TaskPrompt:
    """Describes how to prompt a model for one task.

    Attributes:
        prompt: verbatim; `{fields}` in it is the placeholder for the names of the fields to extract.
        parser: makes a ParsedAnswer of the model's text.
        sampling, limits: override the preset's.
        languages: prompts by the language to translate into (ISO 639-1); override `prompt`.
        in_seen_pixels: the model gives places in pixels of the image as it sees it, after resizing; the parser then
            gets that image's size.
    """

    prompt: str
    parser: Parser
    sampling: Sampling | None = None
    limits: ImageLimits | None = None
    languages: Mapping[str, str] = field(default_factory=dict)
    in_seen_pixels: bool = False

    @property
    def asks_for_fields(self) -> bool:
        """Whether the prompt names the fields to extract."""
        return FIELDS in self.prompt or FIELDS_JSON in self.prompt

    def filled(self, names: Sequence[str] = (), language: str | None = None) -> str:
        """The prompt with the fields' names, worded for the language.

        Raises:
            InputRejected: `options_invalid`: no field is named though the prompt needs one, or the language is not
                supported.
        """
        text = self.prompt
        if self.languages:
            if language is None or language not in self.languages:
                raise InputRejected(
                    "options_invalid", f"translation supports only these languages: {', '.join(self.languages)}"
                )
            text = self.languages[language]
        if not self.asks_for_fields:
            return text
        if not names:
            raise InputRejected("options_invalid", "name at least one field to extract")
        prompted = [prompt_name(name) for name in names]
        form = json.dumps(dict.fromkeys(prompted, ""), ensure_ascii=False)
        return text.replace(FIELDS_JSON, form).replace(FIELDS, ",".join(f"'{name}'" for name in prompted))


@dataclass(frozen=True, slots=True)
class PromptPlan:
    """One request to the model without the image: the prompt as sent, and how to parse the answer.

    `answer`: what the answer must be, if fields are requested. `in_seen_pixels`: see TaskPrompt.
    """

    prompt: str
    parser: Parser
    sampling: Sampling
    limits: ImageLimits
    answer: FieldAnswer | None = None
    in_seen_pixels: bool = False

    def reduced(self, scale: float, max_tokens: int | None) -> PromptPlan:
        """The plan with the sides of the largest image scaled by `scale`, and at most `max_tokens` per answer."""
        plan = self if scale == 1.0 else replace(self, limits=self.limits.shrunk(scale))
        if max_tokens is None:
            return plan
        limit = min(max_tokens, self.sampling.token_limit or max_tokens)
        if self.sampling.max_completion_tokens is None:
            return replace(plan, sampling=replace(self.sampling, max_tokens=limit))
        return replace(plan, sampling=replace(self.sampling, max_completion_tokens=limit))

    def as_request(self) -> dict[str, object]:
        """The fields of a chat request besides `model` and `messages`."""
        request = self.sampling.as_request()
        if self.limits.sent:
            pixels = {"min_pixels": self.limits.min_pixels, "max_pixels": self.limits.max_pixels}
            request["mm_processor_kwargs"] = pixels
        return request


@dataclass(frozen=True, slots=True)
class RetryStep:
    """A retry after the model repeated itself: what changes. `scale`: factor for the sides of the largest image."""

    temperature: float | None = None
    scale: float = 1.0

    def applied(self, plan: PromptPlan) -> PromptPlan:
        """The plan with this step's changes."""
        sampling = plan.sampling
        if self.temperature is not None:
            sampling = replace(sampling, temperature=self.temperature)
        limits = plan.limits if self.scale == 1.0 else plan.limits.shrunk(self.scale)
        return replace(plan, sampling=sampling, limits=limits)


@dataclass(frozen=True, slots=True)
class Preset:
    """One model.

    Attributes:
        name: stable and short: `hunyuanocr-1.5`.
        served_names: names of the model on servers; a managed server uses the first.
        tasks: the tasks it supports.
        limits, sampling: for all tasks that don't override them.
        launch: how vLLM is started for it.
        aliases: other short names, such as that of the family for its newest member.
        system: the system message; None: none is sent; an empty one is sent as it is.
        image_first: whether the image goes before the text.
        elements: how each type of block is read, element by element; None if pages are read as one image. Blocks of
            other types are not read (figures).
        classes: how to read blocks by the layout model's own class name, such as `chart`: by a task, or by a prompt of
            `others`. Overrides `elements`.
        others: prompts of the model that no TaskKind covers, by the model's own names.
        retries: steps to try, in this order, after the model repeated itself.
        licence: of the weights, in its own words or as an SPDX identifier.
        layout: name of the prompt of `others` by which the model itself finds the blocks that `elements` reads; empty:
            the layout model does.
        listed_once: whether `/v1/models` lists the model by one name only, because its own client takes no longer list.
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
    licence: str = ""
    layout: str = ""
    listed_once: bool = False

    def __post_init__(self) -> None:
        if not self.name or not self.served_names:
            raise ValueError("a preset needs a name and at least one of `served_names`")
        unread = {kind for kind in (self.elements or {}).values() if kind not in self.tasks}
        if unread:
            raise ValueError(f"{self.name}: `elements` uses {', '.join(sorted(unread))}, not in `tasks`")
        unknown = {name for name in self.classes.values() if name not in self.tasks and name not in self.others}
        if unknown:
            raise ValueError(f"{self.name}: `classes` uses {', '.join(sorted(unknown))}, not in `tasks` or `others`")
        if self.layout and (self.layout not in self.others or self.elements is None):
            raise ValueError(f"{self.name}: `layout` needs `elements`, and {self.layout!r} in `others`")

    @property
    def names(self) -> tuple[str, ...]:
        """All names by which it can be looked up."""
        return (self.name, *self.aliases, *self.served_names)

    def names_on_server(self, model: str) -> tuple[str, ...]:
        """Returns the preset's possible names on a server: only `model` if the settings give it."""
        return (model,) if model else self.served_names

    @property
    def largest_images(self) -> ImageLimits:
        """The limits of the task that takes the largest images, without its enlarging of small ones."""
        tasks = (*self.tasks.values(), *self.others.values())
        limits = [self.limits, *(task.limits for task in tasks if task.limits is not None)]
        return replace(max(limits, key=lambda each: each.max_pixels), double_under=None)

    def plan(self, kind: TaskKind, names: Sequence[str] = (), language: str | None = None) -> PromptPlan:
        """The request for `kind`. `names`: of the fields to extract; `language`: to translate into.

        Raises:
            InputRejected: `task_unsupported` for the task, `options_invalid` for the other arguments.
        """
        if kind not in self.tasks:
            raise InputRejected(
                "task_unsupported", f"{self.name} does not support {kind}; it supports: {', '.join(self.tasks)}"
            )
        return self._planned(self.tasks[kind], names, language)

    def other_plan(self, name: str) -> PromptPlan:
        """The request for a prompt of the model that no TaskKind covers. Raises as `plan`."""
        if name not in self.others:
            known = ", ".join(self.others) or "none besides its tasks"
            raise InputRejected("task_unsupported", f"{self.name} has no prompt {name!r}; it has: {known}")
        return self._planned(self.others[name], (), None)

    def element_plan(self, block_type: BlockType, label: str = "") -> PromptPlan | None:
        """The request for a block that the layout model calls `label`; None if such blocks are not read."""
        name = self.classes.get(label)
        if name is not None:
            return self.plan(TaskKind(name)) if name in self.tasks else self.other_plan(name)
        kind = (self.elements or {}).get(block_type)
        return None if kind is None else self.plan(kind)

    def within(self, max_pixels: int) -> Preset:
        """The preset with images of at most this many pixels, but never under a task's minimum. 0: unchanged."""
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
        """The messages of a chat request with one image, in the order the model was trained on. An empty prompt is not
        sent.
        """
        image: dict[str, object] = {"type": "image_url", "image_url": {"url": image_url}}
        texts: list[dict[str, object]] = [{"type": "text", "text": prompt}] if prompt else []
        content = [image, *texts] if self.image_first else [*texts, image]
        user: dict[str, object] = {"role": "user", "content": content}
        return [user] if self.system is None else [{"role": "system", "content": self.system}, user]

    def _planned(self, task: TaskPrompt, names: Sequence[str], language: str | None) -> PromptPlan:
        return PromptPlan(
            prompt=task.filled(names, language),
            parser=task.parser,
            sampling=task.sampling or self.sampling,
            limits=task.limits or self.limits,
            answer=answer_names(names) if task.asks_for_fields else None,
            in_seen_pixels=task.in_seen_pixels,
        )
