"""Connections to stores by `obstore`: S3, GCS and Azure, with their credentials."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from importlib import import_module
from typing import Any

from kafka_segments.core.io.store_settings import SCHEMES, StoreConfig, config_of, secrets_of
from kafka_segments.errors import MissingExtraError, OptionError, StoreError

__all__ = ["library", "object_store", "object_store_options", "said_by", "split_address"]

_CONNECT_SECONDS, _REQUEST_SECONDS = 5, 300
_READ_SECONDS = 30  # for one answer; what has arrived of a range is kept
_NUM_RETRIES = 20  # of a writer's requests, by the library
_NUM_READ_RETRIES = 1  # likewise of a reader's; `Patience` repeats further
_OLDEST = (0, 10)
_LONGEST = 400
_KEYS = {"access_key_id", "secret_access_key", "session_token"}
_SCOPES = ["https://www.googleapis.com/auth/devstorage.read_write"]
_FILES = {
    "AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials",
    "AWS_CONFIG_FILE": "~/.aws/config",
}

_owner = [0]  # the process that opened the first store


def library() -> Any:
    """Import `obstore`.

    Raises:
        MissingExtraError: it is not installed, or too old.
        StoreError: the process was forked from one that had opened a store; its threads are missing here.
    """
    if _owner[0] not in (0, os.getpid()):
        raise StoreError("stores cannot be asked in a forked process: start it by spawn or forkserver")
    try:
        import obstore.store
    except ImportError as error:
        raise MissingExtraError(
            "stores need obstore: pip install 'kafka-segments[arrow]'", extra="arrow"
        ) from error
    if tuple(map(int, obstore.__version__.split(".")[:2])) < _OLDEST:
        raise MissingExtraError(
            f"obstore {obstore.__version__} changes names of objects that have a percent sign: "
            "pip install 'kafka-segments[arrow]'",
            extra="arrow",
        )
    return obstore


def split_address(address: str) -> tuple[str, str, str]:
    """Split an address into scheme in small letters, authority, and key without slashes at its ends.

    Raises:
        OptionError: nothing can be written there; or no bucket is named.
    """
    scheme, _, rest = address.partition("://")
    scheme = scheme.lower()
    if SCHEMES.get(scheme, "hdfs") == "hdfs":
        raise OptionError(
            f"{scheme} cannot be written to: only s3a, gs, abfss, and directories on this machine (also "
            "mounted ones) can",
            path=address,
        )
    authority, _, key = rest.partition("/")
    if not authority:
        raise OptionError(f"the address names no bucket: write {scheme}://BUCKET/PATH", path=address)
    return scheme, authority, key.strip("/")


def object_store(
    scheme: str, authority: str, settings: Mapping[str, str], *, for_reading: bool = False
) -> Any:
    """Open the store of a bucket or container.

    Args:
        scheme: of the address, in small letters; not `hdfs`.
        authority: what comes after the two slashes: a bucket, or `container@account`.
        settings: Hadoop's names without `spark.hadoop.`.
        for_reading: leave retries to `Patience`.

    Returns:
        An `obstore.store.ObjectStore`, kept for the process.

    Raises:
        MissingExtraError: obstore is not installed; or a package that finds credentials.
        OptionError: settings that contradict each other or cannot be followed.
        StoreError: no credentials were found.
    """
    config, obstore = config_of(scheme, authority, settings), library()
    _owner[0] = os.getpid()
    try:
        return _opened(config, for_reading)
    except obstore.exceptions.BaseError as error:
        detail = f"the store's settings do not suffice: {said_by(error, secrets_of(settings))}"
    raise StoreError(detail, errno=errno.EACCES, path=f"{scheme}://{authority}")


def said_by(error: Exception, secrets: Sequence[str]) -> str:
    """Text of an error of the library, shortened and without secrets."""
    text = " ".join(str(error).partition("\n\nDebug source")[0].split())
    for secret in secrets:
        text = text.replace(secret, "***")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def object_store_options(scheme: str, authority: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Options of the same store for `deltalake`, which knows no roles; errors as for `object_store`."""
    config = config_of(scheme, authority, settings)
    if config.role:
        raise OptionError(
            "Delta tables are not written with a role or an impersonated account: use keys, a session token "
            "or the role of the machine (docs/stores.md)",
            path=f"{scheme}://{authority}",
        )
    options = {f"{config.kind}_{name}": value for name, value in config.options if name != "bucket"}
    options |= {"timeout": f"{_REQUEST_SECONDS}s", "connect_timeout": f"{_CONNECT_SECONDS}s"}
    return options | {"allow_http": "true"} | ({"proxy_url": config.proxy} if config.proxy else {})


@lru_cache(maxsize=64)
def _opened(config: StoreConfig, for_reading: bool) -> Any:
    store = library().store
    kinds = {"aws": store.S3Store, "google": store.GCSStore, "azure": store.AzureStore}
    client: dict[str, Any] = {
        "allow_http": True,
        "connect_timeout": timedelta(seconds=_CONNECT_SECONDS),
        "timeout": timedelta(seconds=_READ_SECONDS if for_reading else _REQUEST_SECONDS),
    }
    retries: dict[str, Any] = {
        "max_retries": _NUM_READ_RETRIES if for_reading else _NUM_RETRIES,
        "retry_timeout": timedelta(seconds=_REQUEST_SECONDS),
        "backoff": {
            "init_backoff": timedelta(milliseconds=200),
            "max_backoff": timedelta(seconds=8),
            "base": 2,
        },
    }
    if config.proxy:
        client["proxy_url"] = config.proxy
    options = dict(config.options)
    provider = _provider(config.kind, options, dict(config.role))
    more = {} if provider is None else {"credential_provider": provider}
    return kinds[config.kind](config=options, client_options=client, retry_config=retries, **more)


def _provider(kind: str, options: dict[str, str], role: Mapping[str, str]) -> Any:
    """What asks for credentials that the library does not find by itself; None if it does."""
    try:
        if kind == "aws" and (role or _needs_profile(options)):
            aws: Any = import_module("obstore.auth.boto3")
            keys = {f"aws_{name}": options.pop(name) for name in _KEYS & options.keys()}
            session = aws.boto3.Session(region_name=options.get("region"), **keys)
            return (
                aws.StsCredentialProvider(session, **role) if role else aws.Boto3CredentialProvider(session)
            )
        if kind == "google" and role:
            google: Any = import_module("obstore.auth.google")
            impersonated: Any = import_module("google.auth.impersonated_credentials")
            source = google.google.auth.default(scopes=_SCOPES)[0]
            account = impersonated.Credentials(source, target_scopes=_SCOPES, **role)
            return google.GoogleCredentialProvider(account)
    except ImportError as error:
        raise MissingExtraError(
            "the credentials of a profile, a role or an impersonated account need another package: pip "
            "install boto3 (S3) or google-auth (GCS), or set keys (docs/stores.md)",
            extra="arrow",
        ) from error
    except Exception as error:  # each of these packages has its own
        raise StoreError(f"no credentials were found: {error}", errno=errno.EACCES) from None
    return None


def _needs_profile(options: Mapping[str, str]) -> bool:
    """Whether AWS's own files say whose credentials to use, which `object_store` does not read."""
    if {"access_key_id", "skip_signature"} & options.keys() or "AWS_ACCESS_KEY_ID" in os.environ:
        return False
    files = (os.path.expanduser(os.environ.get(name, path)) for name, path in _FILES.items())
    return "AWS_PROFILE" in os.environ or any(map(os.path.exists, files))
