"""Hadoop's settings become pyarrow's arguments; what cannot be followed is said."""

from __future__ import annotations

import pickle
import sys

import pyarrow as pa
import pytest
from pyarrow import fs

from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.store_settings import SCHEMES, arguments_of, secrets_of
from kafka_segments.errors import MissingExtraError, OptionError

KEYS = {"fs.s3a.access.key": "AK", "fs.s3a.secret.key": "SK"}
S3_CASES = {
    "nothing is the ambient chain": ({}, {}),
    "others' settings": ({"fs.defaultFS": "hdfs://x", "fs.s3a.committer.name": "magic"}, {}),
    "keys": (KEYS, {"access_key": "AK", "secret_key": "SK"}),
    "keys with a token": (
        KEYS | {"fs.s3a.session.token": "T"},
        {"access_key": "AK", "secret_key": "SK", "session_token": "T"},
    ),
    "a token without keys belongs to other keys": ({"fs.s3a.session.token": "T"}, {}),
    "a bucket's own keys": (
        KEYS | {"fs.s3a.bucket.b.access.key": "BK", "fs.s3a.bucket.other.secret.key": "OK"},
        {"access_key": "BK", "secret_key": "SK"},
    ),
    "an endpoint with its scheme": (
        {"fs.s3a.endpoint": "http://h:9000/"},
        {"endpoint_override": "h:9000", "scheme": "http", "force_virtual_addressing": False},
    ),
    "an endpoint without TLS": (
        {"fs.s3a.endpoint": "h:9000", "fs.s3a.connection.ssl.enabled": "false"},
        {"endpoint_override": "h:9000", "scheme": "http", "force_virtual_addressing": False},
    ),
    "an endpoint with a name for each bucket": (
        {"fs.s3a.endpoint": "h", "fs.s3a.path.style.access": "false"},
        {"endpoint_override": "h", "scheme": "https", "force_virtual_addressing": True},
    ),
    "a region": ({"fs.s3a.endpoint.region": "eu-west-1"}, {"region": "eu-west-1"}),
    "nobody's name": (
        KEYS | {"fs.s3a.aws.credentials.provider": "org.x.AnonymousAWSCredentialsProvider"},
        {"anonymous": True},
    ),
    "a role": (
        {
            "fs.s3a.aws.credentials.provider": "org.x.auth.AssumedRoleCredentialProvider",
            "fs.s3a.assumed.role.arn": "arn:r",
            "fs.s3a.assumed.role.session.name": "s",
        },
        {"role_arn": "arn:r", "session_name": "s"},
    ),
    "a role that no provider asks for": ({"fs.s3a.assumed.role.arn": "arn:r"}, {}),
    "a proxy": (
        {"fs.s3a.proxy.host": "p", "fs.s3a.proxy.port": "81", "fs.s3a.proxy.username": "u"},
        {"proxy_options": {"scheme": "http", "host": "p", "port": 81, "username": "u"}},
    ),
}


@pytest.mark.parametrize("name", S3_CASES)
def test_s3(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):  # else a role's are asked of the network
        monkeypatch.setenv(key, "none")
    # A role is asked for when the file system is created: once, not for minutes where there is no network.
    monkeypatch.setenv("AWS_RETRY_MODE", "standard")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    settings, expected = S3_CASES[name]
    for scheme in ("s3", "s3a", "s3n"):
        found = arguments_of(scheme, "b", settings)
        assert found == expected
        fs.S3FileSystem(**{"region": "r"} | found)  # it takes them all


def test_gs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert arguments_of("gs", "b", {}) == {}
    settings = {
        "fs.gs.auth.type": "UNAUTHENTICATED",
        "fs.gs.storage.root.url": "http://h:1/",
        "fs.gs.project.id": "p",
    }
    found = arguments_of("gs", "b", settings)
    assert found == {"anonymous": True, "endpoint_override": "h:1", "scheme": "http", "project_id": "p"}
    fs.GcsFileSystem(**found)
    impersonated = {"fs.gs.auth.impersonation.service.account": "a@b"}
    assert arguments_of("gs", "b", impersonated) == {"target_service_account": "a@b"}
    key_file = {"fs.gs.auth.service.account.json.keyfile": "/k.json"}
    with pytest.raises(OptionError, match="GOOGLE_APPLICATION_CREDENTIALS"):
        arguments_of("gs", "b", key_file)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/k.json")
    assert arguments_of("gs", "b", key_file) == {}


AZURE = "c@acc.dfs.core.windows.net"
AUTHORITIES = {
    "account_name": "acc",
    "dfs_storage_authority": ".dfs.core.windows.net",
    "blob_storage_authority": ".blob.core.windows.net",
}
AZURE_CASES = {
    "nothing is the ambient chain": ({}, {}),
    "an account's key": ({"fs.azure.account.key.acc.dfs.core.windows.net": "Sz09"}, {"account_key": "Sz09"}),
    "a key under the blob service's name": (
        {"fs.azure.account.key.acc.blob.core.windows.net": "Sz09"},
        {"account_key": "Sz09"},
    ),
    "another account's key": ({"fs.azure.account.key.other.dfs.core.windows.net": "K"}, {}),
    "a key for all": ({"fs.azure.account.key": "Sz09"}, {"account_key": "Sz09"}),
    "a SAS token": ({"fs.azure.sas.fixed.token": "sv=1"}, {"sas_token": "sv=1"}),
    "OAuth": (
        {
            "fs.azure.account.auth.type": "OAuth",
            "fs.azure.account.oauth2.client.id.acc.dfs.core.windows.net": "I",
            "fs.azure.account.oauth2.client.secret": "S",
            "fs.azure.account.oauth2.client.endpoint": "https://login.example/T/oauth2/token",
        },
        {"client_id": "I", "client_secret": "S", "tenant_id": "T"},
    ),
}


AZURE_NEEDS = {"a SAS token": 20, "OAuth": 21}
"""The version of pyarrow that takes a case's arguments, where the lowest does not."""


@pytest.mark.parametrize("name", AZURE_CASES)
def test_abfs(name: str) -> None:
    settings, expected = AZURE_CASES[name]
    found = arguments_of("abfss", AZURE, settings)
    assert found == AUTHORITIES | expected
    needed = AZURE_NEEDS.get(name, 0)
    if int(pa.__version__.split(".")[0]) >= needed:
        fs.AzureFileSystem(**found)  # it takes them all
    else:
        with pytest.raises(OptionError, match=f"for AzureFileSystem: pyarrow {needed} or newer does"):
            Places(settings).entry(f"abfss://{AZURE}/x")


@pytest.mark.parametrize("name", AZURE_NEEDS)
def test_the_pyarrow_that_takes_settings_for_azure_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def older(
        account_name: str, account_key: str, dfs_storage_authority: str, blob_storage_authority: str
    ) -> None:
        """Take what pyarrow 18 takes."""

    monkeypatch.setattr(fs, "AzureFileSystem", older)
    with pytest.raises(OptionError, match=f"for AzureFileSystem: pyarrow {AZURE_NEEDS[name]} or newer does"):
        Places(AZURE_CASES[name][0]).entry(f"abfss://{AZURE}/x")


def test_hdfs() -> None:
    assert arguments_of("hdfs", "", {}) == {"host": "default", "port": 0}
    assert arguments_of("hdfs", "name:8020", {}) == {"host": "name", "port": 8020}
    more = {"dfs.client.use.datanode.hostname": "true", "fs.s3a.access.key": "AK"}
    found = arguments_of("hdfs", "ha", more)
    assert found["extra_conf"] == {"dfs.client.use.datanode.hostname": "true"}


@pytest.mark.parametrize(
    ("scheme", "authority", "settings", "why"),
    [
        ("s3a", "b", {"fs.s3a.access.key": "AK"}, "belong together"),
        (
            "s3a",
            "b",
            KEYS
            | {
                "fs.s3a.assumed.role.arn": "arn:r",
                "fs.s3a.aws.credentials.provider": "AssumedRoleCredentialProvider",
            },
            "credentials of the environment",
        ),
        ("s3a", "b", {"fs.s3a.proxy.host": "p", "fs.s3a.proxy.port": "x"}, "not a number"),
        ("abfss", "acc.dfs.core.windows.net", {}, "CONTAINER@ACCOUNT"),
        ("abfss", "c@acc", {}, "CONTAINER@ACCOUNT"),
        ("hdfs", "name:port", {}, "not a port"),
    ],
)
def test_what_cannot_be_followed_is_said(
    scheme: str, authority: str, settings: dict[str, str], why: str
) -> None:
    with pytest.raises(OptionError, match=why) as caught:
        arguments_of(scheme, authority, settings)
    assert "AK" not in str(caught.value)


def test_secrets_are_known_by_their_names() -> None:
    settings = KEYS | {"fs.s3a.session.token": "a-token", "fs.s3a.endpoint": "an-endpoint"}
    settings |= {"fs.azure.sas.fixed.token": "sv=2", "fs.s3a.proxy.password": "hidden", "fs.x.key": "abc"}
    assert secrets_of(settings) == ["a-token", "hidden", "sv=2"]


def test_places_show_no_settings_and_travel() -> None:
    places = Places({"fs.s3a.secret.key": "canary-1"}, keep_cache=True, patience=7)
    assert repr(places) == "Places(...)"
    again = pickle.loads(pickle.dumps(places))
    assert again.__dict__ == places.__dict__
    with pytest.raises(OptionError) as caught:
        again.entries("s3a://bucket/x")
    assert "canary-1" not in str(caught.value)


@pytest.mark.parametrize("address", ["s3a:///x", "gs:/x", "s3:/bucket/x"])
def test_a_bucket_must_be_named(address: str) -> None:
    with pytest.raises(OptionError, match="no bucket"):
        Places().open(address)


@pytest.mark.parametrize("address", ["ftp://x/y", "http://x/y", "webhdfs://x/y"])
def test_other_schemes_are_refused(address: str) -> None:
    with pytest.raises(OptionError, match="no file system is known"):
        Places().entry(address)


def test_another_machines_files_are_refused() -> None:
    with pytest.raises(OptionError, match="another machine"):
        Places().entry("file://elsewhere/x")


def test_what_an_older_pyarrow_cannot_be_told_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def older(account_name: str) -> None:
        """It takes nothing else."""

    monkeypatch.setattr(fs, "AzureFileSystem", older)
    with pytest.raises(OptionError, match="does not support all of account_key, account_name") as caught:
        Places({"fs.azure.account.key": "canary-7"}).entry(f"abfss://{AZURE}/x")
    assert "canary" not in str(caught.value)


def test_without_pyarrow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for scheme in SCHEMES.keys() - {"abfs", "abfss"}:
        with pytest.raises(MissingExtraError, match=r"kafka-segments\[arrow\]"):
            Places().entry(f"{scheme}://bucket/x")
