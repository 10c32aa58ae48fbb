"""Faults for mutation_sample.py: changes that each break the product in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A change in one place.

    Attributes:
        file: path below the repository's root.
        old: text that occurs once in the file.
        new: text that replaces it.
        effect: the effect that users see.
    """

    file: str
    old: str
    new: str
    effect: str


FAULTS = (
    Fault(
        "src/inkgate/serving/admission.py",
        "return max(documents / self.max_documents, body_bytes / self.max_bytes)",
        "return documents / self.max_documents",
        "the bytes of bodies in memory are not bounded",
    ),
    Fault(
        "src/inkgate/serving/fair.py",
        "sharer.tag = max(self._v, sharer.tag)",
        "sharer.tag = self._v",
        "a tenant that leaves and comes back gets more than its share",
    ),
    Fault(
        "src/inkgate/serving/queue.py",
        "return min(max(self.backlog_s or 0.0, self._settings.retry_after_s)",
        "return min(max(0.0, self._settings.retry_after_s)",
        "Retry-After does not grow with the backlog",
    ),
    Fault(
        "src/inkgate/serving/queue.py",
        "        self._in_flight[work.tenant] -= 1\n        if",
        "        self._in_flight[work.tenant] -= outcome is WorkOutcome.OK\n        if",
        "a page that fails keeps its slot at the engine",
    ),
    Fault(
        "src/inkgate/serving/batching.py",
        "alone = len(batch) > 1 and not (",
        "alone = len(batch) > 99 and not (",
        "a line that the model fails on fails the other lines of its batch",
    ),
    Fault(
        "src/inkgate/service/page_cache.py",
        "engine, revision, task)\n",
        "engine, revision)\n",
        "a page asked for as Markdown is answered with the cached plain text",
    ),
    Fault(
        "src/inkgate/serving/cache.py",
        "if not self._waiting and not self._landed.is_set():",
        "if not self._landed.is_set():",
        "one client that leaves cancels a read that others share",
    ),
    Fault(
        "src/inkgate/serving/queue.py",
        "for expired in self._order.expire(now):",
        "for expired in self._order.expire(0.0):",
        "pages wait for the engine beyond their deadline",
    ),
    Fault(
        "src/inkgate/serving/breaker.py",
        "return error.blame is Blame.SERVER",
        "return True",
        "a few bad pages open the circuit breaker for all",
    ),
    Fault(
        "src/inkgate/serving/quarantine.py",
        "suspects = there if len(there) == 1 else {key for key in there if self._blame_of(key) is not None}",
        "suspects = there",
        "pages are quarantined for a crash that another page caused",
    ),
    Fault(
        "src/inkgate/serving/degradation.py",
        "level = self.level - (priority is Priority.INTERACTIVE)",
        "level = self.level",
        "interactive pages are degraded as early as batches",
    ),
    Fault(
        "src/inkgate/model_servers/balancer.py",
        "replica = await self._available(call, tried)",
        "replica = await self._available(call, None)",
        "a call that failed is retried on the server that failed it",
    ),
    Fault(
        "src/inkgate/service/reader.py",
        "if len(selected) > most:",
        "if len(selected) > 10 * most:",
        "the page limit is ten times too high",
    ),
    Fault(
        "src/inkgate/documents/decode.py",
        "6: lambda a: _u8(cv2.rotate(a, cv2.ROTATE_90_CLOCKWISE)),",
        "6: lambda a: _u8(cv2.rotate(a, cv2.ROTATE_90_COUNTERCLOCKWISE)),",
        "photos of a phone held upright are read upside down",
    ),
    Fault(
        "src/inkgate/workers/slot.py",
        "return used and death.cause is not LossCause.TIMEOUT",
        "return used and death.cause is LossCause.TIMEOUT",
        "a page is rejected for a crash that an earlier page caused in its worker",
    ),
    Fault(
        "src/inkgate/documents/pdf/trust.py",
        'return glyph.mapped and readable(glyph.text) != ""',
        'return readable(glyph.text) != ""',
        "a text layer whose font maps no characters is taken for the page's text",
    ),
    Fault(
        "packages/inkgate-client/src/inkgate_client/formats/hocr.py",
        'title.text = one_line(result.name) or "document"',
        "title.text = one_line(result.name)",
        "hOCR of a document without a name is an empty page in browsers",
    ),
    Fault(
        "packages/inkgate-client/src/inkgate_client/formats/alto.py",
        'attributes["WC"] = f"{word.confidence:.4f}"',
        'attributes["WC"] = f"{100 * word.confidence:.4f}"',
        "ALTO has confidences in percent, which its schema does not allow",
    ),
    Fault(
        "packages/inkgate-client/src/inkgate_client/escape.py",
        r'r"[\\`*]|<(?=',
        r'r"[\\`]|<(?=',
        "an asterisk in the text turns Markdown into italics",
    ),
    Fault(
        "src/inkgate/layout/order/columns.py",
        "return slice(run.start + above, run.stop - below) if above + below < len(order) else run",
        "return run",
        "a running header is read as part of a column",
    ),
    Fault(
        "src/inkgate/api/http/auth.py",
        "if not any(matches):",
        "if not matches:",
        "any API key is accepted",
    ),
    Fault(
        "src/inkgate/api/http/ratelimit.py",
        "with anyio.fail_after(COUNT_S):",
        "with anyio.fail_after(None):",
        "requests hang while the Redis of the rate limit hangs",
    ),
    Fault(
        "src/inkgate/api/chat/fields.py",
        '"chat_template": _refused(',
        '"chat_template": _charged(',
        "clients may run a template of their own in vLLM",
    ),
    Fault(
        "src/inkgate/api/http/origins.py",
        "if client is None or client[0] not in self._trusted:",
        "if client is None:",
        "anybody can forge the client's address in X-Forwarded-For",
    ),
    Fault(
        "src/inkgate/api/http/leaving.py",
        "        pass\n    scope.cancel()",
        "        pass",
        "pages are read to the end for clients that have left",
    ),
    Fault(
        "src/inkgate/engines/vlm/reply.py",
        "return span >= self.run_span",
        "return False",
        "a model that repeats itself without line breaks is not stopped",
    ),
    Fault(
        "src/inkgate/telemetry/metrics.py",
        'return "failed" if issubclass(error_class(result.error.code), EngineFailed) else "rejected"',
        'return "failed"',
        "rejected documents count as failures of the service",
    ),
    Fault(
        "src/inkgate/telemetry/tracing.py",
        "    _W3C.inject(headers)\n    return headers",
        "    return headers",
        "vLLM's spans are missing in the trace of a request",
    ),
    Fault(
        "src/inkgate/settings/__init__.py",
        "return (passed, environment, file)",
        "return (passed, file, environment)",
        "environment variables do not override the configuration file",
    ),
    Fault(
        "packages/inkgate-client/src/inkgate_client/errors.py",
        "retry_after_s = min(float(retry), _LONGEST_RETRY_S) if retry.isascii() and retry.isdigit() else None",
        "retry_after_s = None",
        "the client library does not pass Retry-After on",
    ),
)
