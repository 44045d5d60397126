"""Arguments of `pyarrow.fs` from Hadoop's settings.

Strategy: a Spark job's settings for Hadoop's file systems apply here too, so the names are the same. For
unset ones, the store's library uses its defaults (environment, profile, instance role). Unknown names are
ignored. A known setting that cannot be followed is an error, as another identity would be used otherwise.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from kafka_segments.errors import OptionError

__all__ = ["SCHEMES", "STORE_PREFIXES", "arguments_of", "secrets_of", "store_settings"]

STORE_PREFIXES = ("fs.", "dfs.", "hadoop.", "spark.hadoop.")
"""Prefixes of Hadoop's settings for stores."""

_SECRET = re.compile(r"key|secret|token|password|sas", re.IGNORECASE)
_SHORTEST_SECRET = 4  # shorter values are `true`, `80` and the like

Arguments = dict[str, Any]


def store_settings(options: Mapping[str, str]) -> dict[str, str]:
    """Select the settings for stores from options, by Hadoop's names."""
    named = {name: value for name, value in options.items() if name.startswith(STORE_PREFIXES)}
    return {name.removeprefix("spark.hadoop."): value for name, value in named.items()}


def secrets_of(settings: Mapping[str, str]) -> list[str]:
    """Secret values to hide in texts, the longest first."""
    named = {value for name, value in settings.items() if _SECRET.search(name)}
    return sorted((value for value in named if len(value) >= _SHORTEST_SECRET), key=len, reverse=True)


def arguments_of(scheme: str, authority: str, settings: Mapping[str, str]) -> Arguments:
    """Return the arguments of the file system's class.

    Args:
        scheme: of the address, in small letters; one of `SCHEMES`.
        authority: what comes after the two slashes: a bucket, `container@account`, `host:port`.
        settings: Hadoop's names without `spark.hadoop.`.

    Raises:
        OptionError: settings that contradict each other or cannot be followed.
    """
    return _BY_FAMILY[SCHEMES[scheme]](authority, settings)


SCHEMES = {
    "s3": "S3FileSystem",
    "s3a": "S3FileSystem",
    "s3n": "S3FileSystem",
    "gs": "GcsFileSystem",
    "abfs": "AzureFileSystem",
    "abfss": "AzureFileSystem",
    "hdfs": "HadoopFileSystem",
}
"""The class in `pyarrow.fs` of each scheme."""


def _s3(bucket: str, settings: Mapping[str, str]) -> Arguments:
    """Arguments for S3, as `S3AFileSystem` reads its settings; a bucket's own come first (HADOOP-13336)."""

    def get(name: str) -> str | None:
        of_bucket = settings.get(f"fs.s3a.bucket.{bucket}.{name}")
        return (of_bucket or settings.get(f"fs.s3a.{name}") or "").strip() or None

    provider = get("aws.credentials.provider") or ""
    arguments = _s3_endpoint(get)
    if "Anonymous" in provider.split(",")[0]:
        return {**arguments, "anonymous": True}
    keys = {"access_key": get("access.key"), "secret_key": get("secret.key")}
    if None in keys.values() and any(keys.values()):
        raise OptionError("fs.s3a.access.key and fs.s3a.secret.key belong together: set both, or neither")
    role = get("assumed.role.arn")
    if role and "AssumedRole" in provider:
        if any(keys.values()):
            raise OptionError(
                "fs.s3a.assumed.role.arn with fs.s3a.access.key is not supported: a role is assumed only "
                "with the credentials of the environment (AWS_ACCESS_KEY_ID, a profile, an instance's role)"
            )
        return arguments | _given(
            role_arn=role,
            session_name=get("assumed.role.session.name"),
            external_id=get("assumed.role.external.id"),
        )
    return arguments | _given(**keys, session_token=get("session.token") if any(keys.values()) else None)


def _s3_endpoint(get: Callable[[str], str | None]) -> Arguments:
    endpoint, style = get("endpoint"), get("path.style.access")
    arguments = _given(region=get("endpoint.region"))
    if endpoint:
        scheme, _slashes, host = endpoint.rpartition("://")
        uses_tls = (get("connection.ssl.enabled") or "true").lower() != "false"
        arguments["endpoint_override"] = host.rstrip("/")
        arguments["scheme"] = scheme.lower() or ("https" if uses_tls else "http")
        # Private servers rarely have a host name for each bucket, and jobs may not set that.
        arguments["force_virtual_addressing"] = (style or "true").lower() == "false"
    proxy, port = get("proxy.host"), get("proxy.port")
    if proxy and port:
        is_secure = (get("proxy.ssl.enabled") or "false").lower() == "true"
        if not port.isdecimal():
            raise OptionError(f"fs.s3a.proxy.port is {port!r}, which is not a number")
        options = _given(host=proxy, username=get("proxy.username"), password=get("proxy.password"))
        scheme = "https" if is_secure else "http"
        arguments["proxy_options"] = {**options, "scheme": scheme, "port": int(port)}
    return arguments


def _gs(bucket: str, settings: Mapping[str, str]) -> Arguments:
    """Arguments for GCS, as Google's `gcs-connector` reads its settings."""
    key_file = settings.get("fs.gs.auth.service.account.json.keyfile")
    if key_file and os.environ.get("GOOGLE_APPLICATION_CREDENTIALS") != key_file:
        raise OptionError(
            "fs.gs.auth.service.account.json.keyfile is not supported by the library that reads gs: name "
            "the file in the environment variable GOOGLE_APPLICATION_CREDENTIALS, on every machine",
            path=f"gs://{bucket}",
        )
    arguments = _given(
        target_service_account=settings.get("fs.gs.auth.impersonation.service.account"),
        project_id=settings.get("fs.gs.project.id"),
    )
    if settings.get("fs.gs.auth.type", "").upper() == "UNAUTHENTICATED":
        arguments["anonymous"] = True
    root = settings.get("fs.gs.storage.root.url")
    if root:
        scheme, _slashes, host = root.rpartition("://")
        arguments |= {"endpoint_override": host.rstrip("/"), "scheme": scheme.lower() or "https"}
    return arguments


def _abfs(authority: str, settings: Mapping[str, str]) -> Arguments:
    """Arguments for Azure, as Hadoop's `AbfsConfiguration`; an account's own settings come first."""
    container, at, host = authority.partition("@")
    account, dot, suffix = host.partition(".")
    if not (container and at and account and dot and suffix.startswith("dfs.")):
        raise OptionError(
            f"the address does not name container and account: {authority!r}; write "
            "abfss://CONTAINER@ACCOUNT.dfs.SUFFIX/PATH"
        )

    def get(name: str) -> str | None:
        """Look up a setting by the account's name at either service."""
        hosts = (host, f"{account}.blob.{suffix.removeprefix('dfs.')}")
        names = (*(f"fs.azure.{name}.{one}" for one in hosts), f"fs.azure.{name}")
        return next((settings[one] for one in names if settings.get(one)), None)

    arguments: Arguments = {
        "account_name": account,
        "dfs_storage_authority": f".{suffix}",
        "blob_storage_authority": f".blob.{suffix.removeprefix('dfs.')}",
    }
    key, token = get("account.key"), get("sas.fixed.token")
    if (get("account.auth.type") or "").lower() == "oauth":
        tenant = re.search(r"//[^/]+/([^/]+)/oauth2", get("account.oauth2.client.endpoint") or "")
        return arguments | _given(
            client_id=get("account.oauth2.client.id"),
            client_secret=get("account.oauth2.client.secret"),
            tenant_id=tenant[1] if tenant else None,
        )
    return arguments | _given(account_key=key, sas_token=None if key else token)


def _hdfs(authority: str, settings: Mapping[str, str]) -> Arguments:
    """Arguments for `libhdfs` besides the site's files; the user is in `HADOOP_USER_NAME`."""
    host, _colon, port = authority.partition(":")
    if port and not port.isdecimal():
        raise OptionError(f"{port!r} is not a port: write hdfs://HOST:PORT/PATH, or hdfs://NAMESERVICE/PATH")
    more = {name: value for name, value in settings.items() if name.startswith(("dfs.", "hadoop.security."))}
    # Port 0 is the one in the site's files, also for name services.
    return {"host": host or "default", "port": int(port or 0)} | _given(extra_conf=more)


def _given(**values: Any) -> Arguments:
    return {name: value for name, value in values.items() if value}


_BY_FAMILY: dict[str, Callable[[str, Mapping[str, str]], Arguments]] = {
    "S3FileSystem": _s3,
    "GcsFileSystem": _gs,
    "AzureFileSystem": _abfs,
    "HadoopFileSystem": _hdfs,
}
