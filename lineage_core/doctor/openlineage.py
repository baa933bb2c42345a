"""Would OpenLineage events arrive: which transport is configured, and is its host there.

Under Airflow the provider's configuration counts (environment, then `airflow.cfg`), elsewhere the
OpenLineage client's own (environment, then `openlineage.yml`).
"""

from __future__ import annotations

import configparser
import json
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lineage_core.doctor.check import Check, Subject, failed, ok, warning

if TYPE_CHECKING:
    from openlineage.client.transport import Transport

_NAME = "openlineage"
_SECONDS = 3.0


def openlineage(subject: Subject) -> Iterator[Check]:
    """Build the configured transports, and reach for the hosts of those that have one."""
    from openlineage.client import OpenLineageClient

    setting = _airflow_setting()
    try:
        config = _parse(setting)
        with _silence():
            client = OpenLineageClient(config={"transport": config} if config else None)
    except Exception as error:
        # The client raises whatever its parts raise; any of it means that no event can be sent.
        advice = "correct OPENLINEAGE_*, openlineage.yml or Airflow's [openlineage] transport"
        yield failed(_NAME, f"the configuration is refused ({type(error).__name__})", advice)
        return
    try:
        if not client.config.transport and not os.environ.get("OPENLINEAGE_URL"):
            yield _unconfigured()
            return
        for transport in _flat(client.transport):
            yield _examine(transport, under_airflow=setting is not None)
    finally:
        client.close(0)


@contextmanager
def _silence() -> Iterator[None]:
    """Let nobody log: the client announces what we are about to say ourselves."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def _unconfigured() -> Check:
    advice = "set OPENLINEAGE_URL (or Airflow's [openlineage] transport) to see datasets in Marquez"
    return warning(_NAME, "no transport is configured, so no events are sent", advice)


def _examine(transport: Transport, *, under_airflow: bool) -> Check:
    kind = transport.kind or type(transport).__name__
    if kind == "async_http" and under_airflow:
        advice = "use the transport type http (or composite): Airflow's listener forks and exits"
        return failed(_NAME, "async_http loses every event of an Airflow task", advice)
    url = getattr(transport, "url", None)
    if not isinstance(url, str):
        return ok(_NAME, f"transport {kind}")
    parts = urlsplit(url)
    place = f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
    reason = _unreachable(place)
    if reason:
        advice = "start it or correct the URL: until then each event costs seconds and is lost"
        return failed(_NAME, f"transport {kind}: {place} is not reachable ({reason})", advice)
    return ok(_NAME, f"transport {kind} to {place}")


def _unreachable(place: str) -> str:
    """Return why no connection to `host:port` can be made; empty when one can."""
    host, _, port = place.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_SECONDS).close()
    except OSError as error:
        return error.strerror or type(error).__name__
    return ""


def _flat(transport: Transport) -> Iterator[Transport]:
    parts = getattr(transport, "transports", None)
    if isinstance(parts, list):
        for part in parts:
            yield from _flat(part)
    else:
        yield transport


def _airflow_setting() -> str | None:
    """Return the text of Airflow's `[openlineage] transport`, or None where there is none."""
    from_environment = os.environ.get("AIRFLOW__OPENLINEAGE__TRANSPORT")
    if from_environment:
        return from_environment
    home = os.environ.get("AIRFLOW_HOME")
    path = os.environ.get("AIRFLOW_CONFIG") or (Path(home, "airflow.cfg") if home else None)
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read([path] if path else [])
    return parser.get("openlineage", "transport", fallback="") or None


def _parse(setting: str | None) -> dict[str, Any] | None:
    config = json.loads(setting) if setting else None
    if config is not None and not isinstance(config, dict):
        raise ValueError("not a JSON object")
    return config
