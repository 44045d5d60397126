"""Object stores for writing, by `obstore`, whose requests `pyarrow` lacks: put if absent, copy, abort.

Strategy: Hadoop's settings become arguments of `pyarrow.fs` in `store_settings`; here these become those of
`object_store`, the library below `obstore` and `deltalake`. What it cannot follow is an error, as another
identity would write otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Any

from kafka_segments.core.io.store_settings import SCHEMES, arguments_of
from kafka_segments.errors import MissingExtraError, OptionError

__all__ = ["library", "object_store", "object_store_options", "split_address"]

_CONNECT_SECONDS, _REQUEST_SECONDS, _PATIENCE_SECONDS = 5, 120, 300
_NUM_RETRIES = 20
_OLDEST = (0, 10)
_PREFIXES = {"S3FileSystem": "aws", "GcsFileSystem": "google", "AzureFileSystem": "azure"}
_NAMES = {
    "access_key": "access_key_id",
    "secret_key": "secret_access_key",
    "session_token": "session_token",
    "region": "region",
    "account_name": "account_name",
    "account_key": "account_key",
    "sas_token": "sas_token",
    "client_id": "client_id",
    "client_secret": "client_secret",
    "tenant_id": "tenant_id",
}
_HANDLED = {
    *_NAMES,
    "anonymous",
    "scheme",
    "endpoint_override",
    "force_virtual_addressing",
    "proxy_options",
    "project_id",  # of requests that create buckets
    "dfs_storage_authority",
    "blob_storage_authority",
}


def split_address(address: str) -> tuple[str, str, str]:
    """Split an address into scheme in small letters, authority, and key without slashes at its ends.

    Raises:
        OptionError: nothing can be written there; or no bucket is named.
    """
    scheme, _, rest = address.partition("://")
    scheme = scheme.lower()
    if SCHEMES.get(scheme) not in _PREFIXES:
        raise OptionError(
            f"{scheme} cannot be written to: only s3a, gs, abfss, and directories on this machine (also "
            "mounted ones) can",
            path=address,
        )
    authority, _, key = rest.partition("/")
    if not authority:
        raise OptionError(f"the address names no bucket: write {scheme}://BUCKET/PATH", path=address)
    return scheme, authority, key.strip("/")


def library() -> Any:
    """Import `obstore`.

    Raises:
        MissingExtraError: it is not installed, or too old.
    """
    try:
        import obstore.store
    except ImportError as error:
        raise MissingExtraError(
            "writing to a store needs obstore: pip install 'kafka-segments[stores]'", extra="stores"
        ) from error
    if tuple(map(int, obstore.__version__.split(".")[:2])) < _OLDEST:
        raise MissingExtraError(
            f"obstore {obstore.__version__} changes names of objects that have a percent sign: "
            "pip install 'kafka-segments[stores]'",
            extra="stores",
        )
    return obstore


def object_store(scheme: str, authority: str, settings: Mapping[str, str]) -> Any:
    """Open the store of a bucket or container.

    Args:
        scheme: of `split_address`.
        authority: likewise.
        settings: Hadoop's names without `spark.hadoop.`.

    Returns:
        An `obstore.store.ObjectStore`, kept for the process.

    Raises:
        MissingExtraError: obstore is not installed.
        OptionError: settings that contradict each other or cannot be followed.
    """
    config, proxy = _config(scheme, authority, settings)
    return _opened(SCHEMES[scheme], tuple(sorted(config.items())), proxy)


def object_store_options(scheme: str, authority: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Options of the same store for `deltalake`; errors as for `object_store`."""
    config, proxy = _config(scheme, authority, settings)
    prefix = _PREFIXES[SCHEMES[scheme]]
    options = {f"{prefix}_{name}": value for name, value in config.items() if name != "bucket"}
    options |= {"timeout": f"{_REQUEST_SECONDS}s", "connect_timeout": f"{_CONNECT_SECONDS}s"}
    return options | {"allow_http": "true"} | ({"proxy_url": proxy} if proxy else {})


@lru_cache(maxsize=64)
def _opened(family: str, config: tuple[tuple[str, str], ...], proxy: str | None) -> Any:
    store = library().store
    kinds = {"S3FileSystem": store.S3Store, "GcsFileSystem": store.GCSStore}
    kind: Any = kinds.get(family, store.AzureStore)
    client: dict[str, Any] = {
        "allow_http": True,
        "connect_timeout": timedelta(seconds=_CONNECT_SECONDS),
        "timeout": timedelta(seconds=_REQUEST_SECONDS),
    }
    retries: dict[str, Any] = {
        "max_retries": _NUM_RETRIES,
        "retry_timeout": timedelta(seconds=_PATIENCE_SECONDS),
        "backoff": {
            "init_backoff": timedelta(milliseconds=200),
            "max_backoff": timedelta(seconds=8),
            "base": 2,
        },
    }
    if proxy:
        client["proxy_url"] = proxy
    return kind(config=dict(config), client_options=client, retry_config=retries)


def _config(scheme: str, authority: str, settings: Mapping[str, str]) -> tuple[dict[str, str], str | None]:
    """Configuration of `object_store` without the family's prefix, and the address of a proxy."""
    family, bucket = SCHEMES[scheme], authority.partition("@")[0]
    arguments = arguments_of(scheme, authority, settings)
    unknown = sorted(arguments.keys() - _HANDLED)
    if unknown:
        raise OptionError(
            f"settings that give {', '.join(unknown)} are not supported for writing: use keys or a session "
            "token, or the role of the machine (docs/stores.md)",
            path=f"{scheme}://{authority}",
        )
    config = {_NAMES[name]: str(value) for name, value in arguments.items() if name in _NAMES}
    config["container_name" if family == "AzureFileSystem" else "bucket"] = bucket
    if arguments.get("anonymous"):
        config["skip_signature"] = "true"
    host = arguments.get("endpoint_override")
    if host and family == "GcsFileSystem":
        config["base_url"] = f"{arguments['scheme']}://{host}"
    elif host:
        is_virtual = arguments["force_virtual_addressing"]
        config["endpoint"] = f"{arguments['scheme']}://{f'{bucket}.' if is_virtual else ''}{host}"
        config["virtual_hosted_style_request"] = "true" if is_virtual else "false"
    if family == "AzureFileSystem":
        config["endpoint"] = f"https://{config['account_name']}{arguments['blob_storage_authority']}"
    return config, _proxy(arguments.get("proxy_options"))


def _proxy(options: Mapping[str, Any] | None) -> str | None:
    if options is None:
        return None
    user = f"{options['username']}:{options.get('password', '')}@" if options.get("username") else ""
    return f"{options['scheme']}://{user}{options['host']}:{options['port']}"
