"""ONNX Runtime: opens sessions the same way for every model."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import structlog
from numpy.typing import NDArray

from inkgate.errors import EngineFailed
from inkgate.runtimes import columns_head
from inkgate.runtimes.base import ColumnModel, Columns, FloatArray
from inkgate.runtimes.compiled import alone
from inkgate.runtimes.providers import NAMES, Accelerator, Options, ProviderRequest, accelerator
from inkgate.settings import Provider

# The official builds of ONNX Runtime send usage data to Microsoft unless this is set before the library is loaded (its
# Privacy.md). A service that reads people's documents must not, so this is not configurable.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # noqa: TID251 - no setting of inkgate's: see above

import onnxruntime

log = structlog.get_logger(__name__)

ON_CPU = Accelerator()


class OnnxRuntime:
    """A Runtime, on the CPU in float32."""

    def __init__(
        self, threads: int, request: ProviderRequest | None = None, available: Sequence[str] | None = None
    ) -> None:
        """`threads`: for one call of a model; 0: one per core. `available`: the providers of the installed ONNX
        Runtime.

        Raises:
            EngineFailed: "provider_unavailable": a provider that was configured by name is not in this ONNX Runtime, or
                can't be used.
        """
        self._threads = threads
        self._on, self._refused = ON_CPU, ""
        if request:
            self._on, self._refused = _usable(request, available or onnxruntime.get_available_providers())
        # Only TensorRT keeps what it compiled.
        self._cache = request.cache if request and self._on.provider is Provider.TENSORRT else None
        self._sessions: WeakKeyDictionary[onnxruntime.InferenceSession, str] = WeakKeyDictionary()
        self.name = f"onnxruntime {self._on.name}"
        self.gpu = self._on.provider is not Provider.CPU

    def open(self, path: Path) -> OnnxModel:
        """Raises EngineFailed("provider_unavailable") if a GPU is configured but can't be used for this model."""
        with alone(self._cache):
            model = OnnxModel(path, self._threads, self._on)
        self._sessions[model.session] = path.name
        return model

    @property
    def fell_back(self) -> str:
        """Why the runtime left the chosen provider. When a provider fails, ONNX Runtime itself switches to the next
        one.
        """
        lost = files_off_provider(list(self._sessions.items()), self._on)
        return self._refused or (f"{NAMES[self._on.provider]} failed and is no longer used for: {lost}" if lost else "")

    def open_columns(self, path: Path) -> ColumnModel:
        """Raises as `open`."""
        if self._on.provider is Provider.CPU:
            return OnnxColumns(self.open(path))
        with alone(self._cache):
            columns = OnnxDeviceColumns(path, self._threads, self._on)
        self._sessions[columns.session] = path.name
        return columns


class OnnxModel:
    """A Model."""

    def __init__(self, path: Path, threads: int, on: Accelerator = ON_CPU) -> None:
        """Loads the model. `threads`: for one `run`; 0 lets the runtime use every core."""
        self.session = _opened(path, threads, on)
        self._input_name = self.session.get_inputs()[0].name
        self.metadata = _metadata(self.session)

    def run(self, tensor: FloatArray) -> list[FloatArray]:
        """All outputs of the model for one input tensor, in the model's order. Blocking."""
        outputs: Any = self.session.run(None, {self._input_name: tensor})
        return list(outputs)


class OnnxColumns:
    """A ColumnModel on the CPU: NumPy reduces the softmax, which ONNX Runtime returns without a copy.

    That takes under 1 % of the model's time; ONNX Runtime's own ArgMax and ReduceMax take four to five times as long.
    """

    def __init__(self, model: OnnxModel) -> None:
        self.metadata = model.metadata
        self._model = model

    def run(self, tensor: FloatArray) -> Columns:
        (output,) = self._model.run(tensor)
        best = output.argmax(axis=2).astype(np.int32)
        return Columns(best, np.take_along_axis(output, best[:, :, None], axis=2)[:, :, 0], output[:, :, -1])


class OnnxDeviceColumns:
    """A ColumnModel on a GPU: a second, small model reduces the softmax, which stays on the device."""

    def __init__(self, path: Path, threads: int, on: Accelerator) -> None:
        """Loads both models. Raises as OnnxRuntime.open."""
        self.session = _opened(path, threads, on)
        self._head = _session(_head(), threads, on.providers(columns_head.INPUT))
        self._device = on.device
        self.metadata = _metadata(self.session)

    def run(self, tensor: FloatArray) -> Columns:
        binding = self.session.io_binding()
        binding.bind_cpu_input(self.session.get_inputs()[0].name, tensor)
        binding.bind_output(self.session.get_outputs()[0].name, *self._device)
        self.session.run_with_iobinding(binding)
        (softmax,) = binding.get_outputs()
        head = self._head.io_binding()
        head.bind_ortvalue_input(columns_head.INPUT, softmax)
        for name in columns_head.OUTPUTS:
            head.bind_output(name)  # in main memory
        self._head.run_with_iobinding(head)
        return Columns(*(output.numpy() for output in head.get_outputs()))


class OnnxGraph:
    """A model with several named inputs, otherwise as OnnxModel.

    Attributes:
        inputs, outputs: their shapes by name, in the model's order; a variable dimension is a string or None.
    """

    def __init__(self, path: Path, threads: int) -> None:
        """Loads the model. `threads`: for one `run`; 0 lets the runtime use every core."""
        # A waiting thread that spins takes more processor time than the small steps of a decoder: a table of 65 cells
        # takes 72 ms with two threads, and 122 ms if they spin.
        self._session = _opened(path, threads, spin=False)
        self.inputs: dict[str, list[int | str | None]] = {each.name: each.shape for each in self._session.get_inputs()}
        self.outputs: dict[str, list[int | str | None]] = {
            each.name: each.shape for each in self._session.get_outputs()
        }
        self.metadata = _metadata(self._session)

    def run(self, tensors: Mapping[str, FloatArray], names: Sequence[str]) -> list[NDArray[Any]]:
        """The outputs named in `names`, for inputs by name. Blocking. Other outputs are not copied."""
        outputs: Any = self._session.run(list(names), dict(tensors))
        return list(outputs)


class _Session(Protocol):
    def get_providers(self) -> list[str]: ...


def files_off_provider(sessions: Iterable[tuple[_Session, str]], on: Accelerator) -> str:
    """The files of sessions whose first provider is no longer in use."""
    return ", ".join(
        sorted(file for session, file in sessions if on.providers(file)[0][0] not in session.get_providers())
    )


def _usable(request: ProviderRequest, available: Sequence[str]) -> tuple[Accelerator, str]:
    """The accelerator for the request, tested; the CPU and the reason if a GPU's provider is available but can't be
    used. Raises as OnnxRuntime.
    """
    on = accelerator(request, available)
    try:
        _session(_head(), 1, on.providers(columns_head.INPUT))
    except EngineFailed as error:
        if request.gpu:
            raise
        log.warning("gpu_not_used", reason=error.detail)
        return ON_CPU, error.detail
    return on, ""


def _head() -> bytes:
    return base64.b64decode(columns_head.MODEL)


def _opened(path: Path, threads: int, on: Accelerator = ON_CPU, *, spin: bool = True) -> onnxruntime.InferenceSession:
    return _session(str(path), threads, on.providers(path.name), spin=spin)


def _session(
    model: str | bytes, threads: int, providers: list[tuple[str, Options]], *, spin: bool = True
) -> onnxruntime.InferenceSession:
    """Raises EngineFailed("provider_unavailable") if the first of the providers can't be used."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "1" if spin else "0")
    # The arena keeps memory for the largest shape ever seen and, with pages of all sizes, never frees it.
    options.enable_cpu_mem_arena = False
    session = onnxruntime.InferenceSession(model, options, providers=providers)
    first = providers[0][0]
    if first not in session.get_providers():  # ONNX Runtime silently continues with the next one
        lacking = f"{first} can't be used: libraries or a GPU are missing. ONNX Runtime says which on standard error."
        raise EngineFailed("provider_unavailable", lacking)
    return session


def _metadata(session: onnxruntime.InferenceSession) -> dict[str, str]:
    return dict(session.get_modelmeta().custom_metadata_map)
