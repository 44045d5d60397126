"""Stores for writing: what settings become, which are refused, and that the libraries take them."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from tests.io.conftest import settings_for

from kafka_segments.core.io import object_store as stores
from kafka_segments.core.io.object_store import object_store, object_store_options, split_address
from kafka_segments.errors import MissingExtraError, OptionError

pytest.importorskip("obstore")

OAUTH = {
    "fs.azure.account.auth.type": "OAuth",
    "fs.azure.account.oauth2.client.id": "canary-client",
    "fs.azure.account.oauth2.client.secret": "canary-client-secret",
    "fs.azure.account.oauth2.client.endpoint": "https://login.microsoftonline.com/tenant/oauth2/token",
}


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("s3a://bucket/a/b/", ("s3a", "bucket", "a/b")),
        ("S3://bucket", ("s3", "bucket", "")),
        ("abfss://files@lake.dfs.core.windows.net/a", ("abfss", "files@lake.dfs.core.windows.net", "a")),
    ],
)
def test_an_address_is_split(address: str, expected: tuple[str, str, str]) -> None:
    assert split_address(address) == expected


@pytest.mark.parametrize("address", ["hdfs://name/table", "wasb://files@lake/table", "s3a:///table"])
def test_an_address_that_cannot_be_written_to(address: str) -> None:
    with pytest.raises(OptionError, match=r"cannot be written to|names no bucket"):
        split_address(address)


@pytest.mark.parametrize(
    ("address", "settings", "expected"),
    [
        (
            "s3a://bucket/t",
            settings_for("127.0.0.1:7070"),
            {
                "aws_access_key_id": "canary-access-8f1c",
                "aws_secret_access_key": "canary-secret-77ab03",
                "aws_region": "us-east-1",
                "aws_endpoint": "http://127.0.0.1:7070",
                "aws_virtual_hosted_style_request": "false",
            },
        ),
        (
            "s3://bucket/t",
            {"fs.s3a.endpoint": "minio.lan", "fs.s3a.path.style.access": "false"},
            {"aws_endpoint": "https://bucket.minio.lan", "aws_virtual_hosted_style_request": "true"},
        ),
        (
            "s3a://bucket/t",
            {
                "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider",
                "fs.s3a.proxy.host": "proxy.lan",
                "fs.s3a.proxy.port": "3128",
                "fs.s3a.proxy.username": "user",
                "fs.s3a.proxy.password": "word",
            },
            {"aws_skip_signature": "true", "proxy_url": "http://user:word@proxy.lan:3128"},
        ),
        (
            "gs://bucket/t",
            {"fs.gs.auth.type": "UNAUTHENTICATED", "fs.gs.storage.root.url": "http://127.0.0.1:4443"},
            {"google_skip_signature": "true", "google_base_url": "http://127.0.0.1:4443"},
        ),
        (
            "abfss://files@lake.dfs.core.windows.net/t",
            {"fs.azure.account.key.lake.dfs.core.windows.net": "a2V5a2V5"},
            {
                "azure_account_name": "lake",
                "azure_account_key": "a2V5a2V5",
                "azure_container_name": "files",
                "azure_endpoint": "https://lake.blob.core.windows.net",
            },
        ),
        (
            "abfss://files@lake.dfs.core.windows.net/t",
            OAUTH,
            {"azure_client_id": "canary-client", "azure_tenant_id": "tenant"},
        ),
        (
            "abfss://files@lake.dfs.core.windows.net/t",
            {"fs.azure.sas.fixed.token": "sv=2024&sig=abc"},
            {"azure_sas_token": "sv=2024&sig=abc"},
        ),
    ],
)
def test_what_settings_become(address: str, settings: dict[str, str], expected: dict[str, Any]) -> None:
    scheme, authority, _ = split_address(address)
    assert object_store_options(scheme, authority, settings).items() >= expected.items()
    store = object_store(scheme, authority, settings)
    assert type(store).__name__ in ("S3Store", "GCSStore", "AzureStore")
    assert object_store(scheme, authority, settings) is store


@pytest.mark.parametrize(
    ("address", "settings", "said"),
    [
        (
            "s3a://bucket/t",
            {
                "fs.s3a.aws.credentials.provider": "AssumedRoleCredentialProvider",
                "fs.s3a.assumed.role.arn": "arn:aws:iam::1:role/reader",
            },
            "settings that give role_arn are not supported",
        ),
        (
            "gs://bucket/t",
            {"fs.gs.auth.impersonation.service.account": "other@project"},
            "settings that give target_service_account are not supported",
        ),
    ],
)
def test_settings_that_are_refused(address: str, settings: dict[str, str], said: str) -> None:
    scheme, authority, _ = split_address(address)
    with pytest.raises(OptionError, match=said):
        object_store(scheme, authority, settings)


def test_with_a_library_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "_opened", stores._opened.__wrapped__)
    monkeypatch.setattr("obstore.__version__", "0.9.2")
    with pytest.raises(MissingExtraError, match=r"obstore 0\.9\.2 changes names"):
        object_store("s3a", "bucket", {})


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "_opened", stores._opened.__wrapped__)
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(MissingExtraError, match=r"kafka-segments\[stores\]"):
        object_store("s3a", "bucket", {})
