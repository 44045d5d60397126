"""Configuration of stores from Hadoop's settings.

Strategy: a Spark job's settings for Hadoop's file systems apply here too, so the names are the same. They
become options of `object_store`, the library below `obstore` and `deltalake`. For unset ones, the library
uses its defaults (environment, instance role). Unknown names are ignored. A known setting that cannot be
followed is an error, as another identity would be used otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_segments.errors import OptionError

__all__ = [
    "SCHEMES",
    "STORE_PREFIXES",
    "StoreConfig",
    "config_of",
    "hdfs_arguments",
    "secrets_of",
    "store_settings",
]

STORE_PREFIXES = ("fs.", "dfs.", "hadoop.", "spark.hadoop.")
"""Prefixes of Hadoop's settings for stores."""

SCHEMES = {
    "s3": "aws",
    "s3a": "aws",
    "s3n": "aws",
    "gs": "google",
    "abfs": "azure",
    "abfss": "azure",
    "hdfs": "hdfs",
}
"""The kind of store of each scheme."""

_SECRET = re.compile(r"key|secret|token|password|sas", re.IGNORECASE)
_SHORTEST_SECRET = 4  # shorter values are `true`, `80` and the like
_SERVER = re.compile(r"[\w.:\[\]-]+(?:/[\w./~-]*)?")

Get = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """A bucket or container, and how to connect to it.

    Attributes:
        kind: a value of `SCHEMES`.
        options: of `object_store`, without the kind's prefix.
        role: whose credentials to ask for: arguments of AssumeRole, or the account to impersonate.
        proxy: its address.
    """

    kind: str
    options: tuple[tuple[str, str], ...]
    role: tuple[tuple[str, str], ...] = ()
    proxy: str | None = None


def store_settings(options: Mapping[str, str]) -> dict[str, str]:
    """Select the settings for stores from options, by Hadoop's names."""
    named = {name: value for name, value in options.items() if name.startswith(STORE_PREFIXES)}
    return {name.removeprefix("spark.hadoop."): value for name, value in named.items()}


def secrets_of(settings: Mapping[str, str]) -> list[str]:
    """Secret values to hide in texts, the longest first."""
    named = {value for name, value in settings.items() if _SECRET.search(name)}
    return sorted((value for value in named if len(value) >= _SHORTEST_SECRET), key=len, reverse=True)


def config_of(scheme: str, authority: str, settings: Mapping[str, str]) -> StoreConfig:
    """Return the configuration of a store.

    Args:
        scheme: of the address, in small letters; one of `SCHEMES`, but not `hdfs`.
        authority: what comes after the two slashes: a bucket, or `container@account`.
        settings: Hadoop's names without `spark.hadoop.`.

    Raises:
        OptionError: settings that contradict each other or cannot be followed.
    """
    kind = SCHEMES[scheme]
    if kind == "aws":
        return _s3(authority, settings)
    return _gs(authority, settings) if kind == "google" else _abfs(authority, settings)


def _s3(bucket: str, settings: Mapping[str, str]) -> StoreConfig:
    """Configuration of S3, as `S3AFileSystem` has it; a bucket's own settings come first (HADOOP-13336)."""

    def get(name: str) -> str | None:
        of_bucket = settings.get(f"fs.s3a.bucket.{bucket}.{name}")
        return (of_bucket or settings.get(f"fs.s3a.{name}") or "").strip() or None

    provider = get("aws.credentials.provider") or ""
    options = {"bucket": bucket, **_given(region=get("endpoint.region")), **_s3_endpoint(bucket, get)}
    if "Anonymous" in provider.split(",")[0]:
        return _config("aws", {**options, "skip_signature": "true"}, proxy=_proxy(get))
    keys = _given(access_key_id=get("access.key"), secret_access_key=get("secret.key"))
    if len(keys) == 1:
        raise OptionError("fs.s3a.access.key and fs.s3a.secret.key belong together: set both, or neither")
    if keys:  # a token alone belongs to other keys
        options |= keys | _given(session_token=get("session.token"))
    role = get("assumed.role.arn") if "AssumedRole" in provider else None
    assumed = {} if role is None else {"RoleArn": role, "RoleSessionName": "kafka-segments"}
    if assumed:
        assumed |= _given(
            RoleSessionName=get("assumed.role.session.name"), ExternalId=get("assumed.role.external.id")
        )
    return _config("aws", options, assumed, _proxy(get))


def _s3_endpoint(bucket: str, get: Get) -> dict[str, str]:
    endpoint = get("endpoint")
    if endpoint is None:
        return {}
    uses_tls = (get("connection.ssl.enabled") or "true").lower() != "false"
    scheme, host = _server("fs.s3a.endpoint", endpoint, "https" if uses_tls else "http")
    # Private servers rarely have a host name for each bucket, and jobs may not set that.
    is_virtual = (get("path.style.access") or "true").lower() == "false"
    return {
        "endpoint": f"{scheme}://{bucket}.{host}" if is_virtual else f"{scheme}://{host}",
        "virtual_hosted_style_request": "true" if is_virtual else "false",
    }


def _server(name: str, value: str, scheme: str) -> tuple[str, str]:
    """Scheme and host of a server in a setting."""
    given, _slashes, host = value.rpartition("://")
    host = host.rstrip("/")
    if not _SERVER.fullmatch(host):
        raise OptionError(f"{name} is {value!r}, which is not the address of a server")
    return given.lower() or scheme, host


def _proxy(get: Get) -> str | None:
    host, port = get("proxy.host"), get("proxy.port")
    if host is None or port is None:
        return None
    if not port.isdecimal():
        raise OptionError(f"fs.s3a.proxy.port is {port!r}, which is not a number")
    name, password = get("proxy.username"), get("proxy.password") or ""
    user = f"{name}:{password}@" if name else ""
    is_secure = (get("proxy.ssl.enabled") or "false").lower() == "true"
    return f"{'https' if is_secure else 'http'}://{user}{host}:{port}"


def _gs(bucket: str, settings: Mapping[str, str]) -> StoreConfig:
    """Configuration of GCS, as Google's `gcs-connector` reads its settings."""
    key_file = settings.get("fs.gs.auth.service.account.json.keyfile")
    options = {"bucket": bucket, **_given(service_account=key_file)}
    if settings.get("fs.gs.auth.type", "").upper() == "UNAUTHENTICATED":
        options["skip_signature"] = "true"
    root = settings.get("fs.gs.storage.root.url")
    if root:
        options["base_url"] = "://".join(_server("fs.gs.storage.root.url", root, "https"))
    account = settings.get("fs.gs.auth.impersonation.service.account")
    return _config("google", options, _given(target_principal=account))


def _abfs(authority: str, settings: Mapping[str, str]) -> StoreConfig:
    """Configuration of Azure, as Hadoop's `AbfsConfiguration`; an account's own settings come first."""
    container, at, host = authority.partition("@")
    account, dot, suffix = host.partition(".")
    if not (container and at and account and dot and suffix.startswith("dfs.")):
        raise OptionError(
            f"the address does not name container and account: {authority!r}; write "
            "abfss://CONTAINER@ACCOUNT.dfs.SUFFIX/PATH"
        )
    blob_host = f"{account}.blob.{suffix.removeprefix('dfs.')}"

    def get(name: str) -> str | None:
        """Look up a setting by the account's name at either service."""
        names = (*(f"fs.azure.{name}.{one}" for one in (host, blob_host)), f"fs.azure.{name}")
        return next((settings[one] for one in names if settings.get(one)), None)

    options = {"container_name": container, "account_name": account, "endpoint": f"https://{blob_host}"}
    key = get("account.key")
    if (get("account.auth.type") or "").lower() == "oauth":
        tenant = re.search(r"//[^/]+/([^/]+)/oauth2", get("account.oauth2.client.endpoint") or "")
        options |= _given(
            client_id=get("account.oauth2.client.id"),
            client_secret=get("account.oauth2.client.secret"),
            tenant_id=tenant[1] if tenant else None,
        )
    else:
        options |= _given(account_key=key, sas_token=None if key else get("sas.fixed.token"))
    return _config("azure", options)


def hdfs_arguments(authority: str, settings: Mapping[str, str]) -> dict[str, Any]:
    """Arguments of `pyarrow.fs.HadoopFileSystem` besides the site's files; the user is in `HADOOP_USER_NAME`.

    Raises:
        OptionError: the port is not a number.
    """
    host, _colon, port = authority.partition(":")
    if port and not port.isdecimal():
        raise OptionError(f"{port!r} is not a port: write hdfs://HOST:PORT/PATH, or hdfs://NAMESERVICE/PATH")
    more = {name: value for name, value in settings.items() if name.startswith(("dfs.", "hadoop.security."))}
    # Port 0 is the one in the site's files, also for name services.
    arguments: dict[str, Any] = {"host": host or "default", "port": int(port or 0)}
    return arguments | ({"extra_conf": more} if more else {})


def _given(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}


def _config(
    kind: str, options: dict[str, str], role: Mapping[str, str] | None = None, proxy: str | None = None
) -> StoreConfig:
    return StoreConfig(kind, tuple(sorted(options.items())), tuple(sorted((role or {}).items())), proxy)
