"""What Hadoop's settings become, which are refused, and that the libraries take them."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from tests import work
from tests.io.conftest import settings_for

from kafka_segments.core.io import stores
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.store_settings import (
    SCHEMES,
    config_of,
    hdfs_arguments,
    secrets_of,
)
from kafka_segments.core.io.stores import object_store, object_store_options, split_address
from kafka_segments.errors import MissingExtraError, OptionError, StoreError

pytest.importorskip("obstore")

KEYS = {"fs.s3a.access.key": "AK", "fs.s3a.secret.key": "SK"}
OWN = {"access_key_id": "AK", "secret_access_key": "SK"}
ROLE = {
    "fs.s3a.aws.credentials.provider": "org.x.auth.AssumedRoleCredentialProvider",
    "fs.s3a.assumed.role.arn": "arn:r",
}
AZURE = "c@acc.dfs.core.windows.net"
OAUTH = {
    "fs.azure.account.auth.type": "OAuth",
    "fs.azure.account.oauth2.client.id.acc.dfs.core.windows.net": "I",
    "fs.azure.account.oauth2.client.secret": "S",
    "fs.azure.account.oauth2.client.endpoint": "https://login.example/T/oauth2/token",
}
PATH_STYLE = {"virtual_hosted_style_request": "false"}
CASES: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "nothing is the ambient chain": ("s3a://b", {}, {}),
    "others' settings": ("s3n://b", {"fs.defaultFS": "hdfs://x", "fs.s3a.committer.name": "magic"}, {}),
    "keys": ("s3://b", KEYS, OWN),
    "keys with a token": ("s3a://b", KEYS | {"fs.s3a.session.token": "T"}, OWN | {"session_token": "T"}),
    "a token without keys belongs to other keys": ("s3a://b", {"fs.s3a.session.token": "T"}, {}),
    "a bucket's own keys": (
        "s3a://b",
        KEYS | {"fs.s3a.bucket.b.access.key": "BK", "fs.s3a.bucket.other.secret.key": "OK"},
        OWN | {"access_key_id": "BK"},
    ),
    "an endpoint with its scheme": (
        "s3a://b",
        {"fs.s3a.endpoint": "http://h:9000/"},
        PATH_STYLE | {"endpoint": "http://h:9000"},
    ),
    "an endpoint without TLS": (
        "s3a://b",
        {"fs.s3a.endpoint": "h:9000", "fs.s3a.connection.ssl.enabled": "false"},
        PATH_STYLE | {"endpoint": "http://h:9000"},
    ),
    "an endpoint with a name for each bucket": (
        "s3a://b",
        {"fs.s3a.endpoint": "h", "fs.s3a.path.style.access": "false"},
        {"endpoint": "https://b.h", "virtual_hosted_style_request": "true"},
    ),
    "a region": ("s3a://b", {"fs.s3a.endpoint.region": "eu-west-1"}, {"region": "eu-west-1"}),
    "nobody's name": (
        "s3a://b",
        KEYS | {"fs.s3a.aws.credentials.provider": "org.x.AnonymousAWSCredentialsProvider"},
        {"skip_signature": "true"},
    ),
    "a role that no provider asks for": ("s3a://b", {"fs.s3a.assumed.role.arn": "arn:r"}, {}),
    "nobody's name in Google's store": (
        "gs://b",
        {
            "fs.gs.auth.type": "UNAUTHENTICATED",
            "fs.gs.storage.root.url": "http://h:1/",
            "fs.gs.project.id": "p",
        },
        {"skip_signature": "true", "base_url": "http://h:1"},
    ),
    "an Azure account's key": (
        f"abfss://{AZURE}",
        {"fs.azure.account.key.acc.dfs.core.windows.net": "Sz09"},
        {"account_key": "Sz09"},
    ),
    "a key under the blob service's name": (
        f"abfs://{AZURE}",
        {"fs.azure.account.key.acc.blob.core.windows.net": "Sz09"},
        {"account_key": "Sz09"},
    ),
    "another account's key": (
        f"abfss://{AZURE}",
        {"fs.azure.account.key.other.dfs.core.windows.net": "K"},
        {},
    ),
    "a key for all": (f"abfss://{AZURE}", {"fs.azure.account.key": "Sz09"}, {"account_key": "Sz09"}),
    "a SAS token": (f"abfss://{AZURE}", {"fs.azure.sas.fixed.token": "sv=1"}, {"sas_token": "sv=1"}),
    "OAuth": (f"abfss://{AZURE}", OAUTH, {"client_id": "I", "client_secret": "S", "tenant_id": "T"}),
}
NAMES = {
    "aws": {"bucket": "b"},
    "google": {"bucket": "b"},
    "azure": {
        "container_name": "c",
        "account_name": "acc",
        "endpoint": "https://acc.blob.core.windows.net",
    },
}


@pytest.fixture(autouse=True)
def no_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's own files say whose credentials to use."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("AWS_PROFILE", raising=False)


@pytest.mark.parametrize("name", CASES)
def test_what_settings_become(name: str) -> None:
    address, settings, expected = CASES[name]
    scheme, authority, _key = split_address(address)
    config = config_of(scheme, authority, settings)
    assert dict(config.options) == NAMES[config.kind] | expected
    assert (config.role, config.proxy) == ((), None)
    store = object_store(scheme, authority, settings)  # it takes them all
    assert type(store).__name__ in ("S3Store", "GCSStore", "AzureStore")
    assert object_store(scheme, authority, settings) is store
    options = object_store_options(scheme, authority, settings)
    assert options.items() >= {f"{config.kind}_{one}": value for one, value in expected.items()}.items()


def test_a_proxy() -> None:
    settings = {"fs.s3a.proxy.host": "p", "fs.s3a.proxy.port": "81", "fs.s3a.proxy.username": "u"}
    assert config_of("s3a", "b", settings).proxy == "http://u:@p:81"
    settings |= {"fs.s3a.proxy.password": "word", "fs.s3a.proxy.ssl.enabled": "true"}
    assert object_store_options("s3a", "b", settings)["proxy_url"] == "https://u:word@p:81"
    object_store("s3a", "b", settings)


def test_whose_role_is_taken() -> None:
    found = config_of("s3a", "b", KEYS | ROLE)
    assert dict(found.role) == {"RoleArn": "arn:r", "RoleSessionName": "kafka-segments"}
    more = {"fs.s3a.assumed.role.session.name": "s", "fs.s3a.assumed.role.external.id": "x"}
    assert config_of("s3a", "b", ROLE | more).role == (
        ("ExternalId", "x"),
        ("RoleArn", "arn:r"),
        ("RoleSessionName", "s"),
    )
    impersonated = {"fs.gs.auth.impersonation.service.account": "a@b"}
    assert config_of("gs", "b", impersonated).role == (("target_principal", "a@b"),)
    for scheme, settings in (("s3a", ROLE), ("gs", impersonated)):
        with pytest.raises(OptionError, match="not written with a role"):
            object_store_options(scheme, "b", settings)


def test_a_key_file_of_google(tmp_path: Path) -> None:
    settings = {"fs.gs.auth.service.account.json.keyfile": str(tmp_path / "none.json")}
    assert dict(config_of("gs", "b", settings).options)["service_account"] == str(tmp_path / "none.json")
    with pytest.raises(StoreError, match="Unable to open service account file"):
        Places(settings).entries("gs://b/x")


def test_a_key_that_is_none() -> None:
    with pytest.raises(StoreError, match=r"abfss://c@acc.*do not suffice") as caught:
        Places({"fs.azure.account.key": "canary-"}).entries(f"abfss://{AZURE}/x")
    assert "canary" not in str(caught.value)


def test_hdfs() -> None:
    assert hdfs_arguments("", {}) == {"host": "default", "port": 0}
    assert hdfs_arguments("name:8020", {}) == {"host": "name", "port": 8020}
    more = {"dfs.client.use.datanode.hostname": "true", "fs.s3a.access.key": "AK"}
    assert hdfs_arguments("ha", more)["extra_conf"] == {"dfs.client.use.datanode.hostname": "true"}


@pytest.mark.parametrize(
    ("address", "settings", "why"),
    [
        ("s3a://b", {"fs.s3a.access.key": "AK"}, "belong together"),
        ("s3a://b", {"fs.s3a.proxy.host": "p", "fs.s3a.proxy.port": "x"}, "not a number"),
        ("s3a://b", {"fs.s3a.endpoint": "http://not a host"}, "not the address of a server"),
        ("abfss://acc.dfs.core.windows.net", {}, "CONTAINER@ACCOUNT"),
        ("abfss://c@acc", {}, "CONTAINER@ACCOUNT"),
        ("hdfs://name:port", {}, "not a port"),
        ("s3a:///x", {}, "no bucket"),
        ("gs:/x", {}, "no bucket"),
        ("s3:/bucket/x", {}, "no bucket"),
        ("ftp://x/y", {}, "no file system is known"),
        ("webhdfs://x/y", {}, "no file system is known"),
        ("file://elsewhere/x", {}, "another machine"),
    ],
)
def test_what_cannot_be_followed_is_said(address: str, settings: dict[str, str], why: str) -> None:
    with pytest.raises(OptionError, match=why) as caught:
        Places(settings).entry(address)
    assert "AK" not in str(caught.value)


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


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No store is open yet."""
    monkeypatch.setattr(stores, "_opened", stores._opened.__wrapped__)


@pytest.mark.parametrize("scheme", sorted(SCHEMES.keys() - {"abfs", "abfss"}))
def test_without_the_library_the_extra_is_named(
    scheme: str, fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, {"hdfs": "pyarrow"}.get(scheme, "obstore"), None)
    with pytest.raises(MissingExtraError, match=r"kafka-segments\[arrow\]"):
        Places().entry(f"{scheme}://bucket/x")


def test_with_a_library_that_is_too_old(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obstore.__version__", "0.9.2")
    with pytest.raises(MissingExtraError, match=r"obstore 0\.9\.2 changes names"):
        object_store("s3a", "bucket", {})


@pytest.mark.parametrize("settings", [{}, ROLE])
def test_a_profile_or_a_role_needs_another_package(
    settings: dict[str, str], fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.setitem(sys.modules, "obstore.auth.boto3", None)
    monkeypatch.setenv("AWS_PROFILE", "archive")
    with pytest.raises(MissingExtraError, match="pip install boto3"):
        object_store("s3a", "bucket", settings)
    object_store("s3a", "bucket", KEYS)


@pytest.mark.parametrize(
    ("package", "scheme", "settings"),
    [
        ("boto3", "s3a", KEYS | ROLE),
        ("google.auth", "gs", {"fs.gs.auth.impersonation.service.account": "a@b"}),
    ],
)
def test_a_role_is_asked_for(
    package: str,
    scheme: str,
    settings: dict[str, str],
    tmp_path: Path,
    fresh: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip(package, reason=f"needs {package}")
    key = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}
    (tmp_path / "key.json").write_text(json.dumps(key))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
    store = object_store(scheme, "bucket", settings)
    assert "CredentialProvider" in type(store.credential_provider).__name__


def _in_child(places: Places, queue: Any) -> None:
    try:
        places.entries("s3a://bucket/x")
    except StoreError as error:
        queue.put(str(error))


def test_a_forked_process_is_told_at_once() -> None:
    places = Places(settings_for("127.0.0.1:1"), patience=0.1)
    with pytest.raises(StoreError):
        places.entries("s3a://bucket/x")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(places, queue))
    child.start()
    try:
        assert "forked process" in queue.get(timeout=work.HANGS)
    finally:
        child.kill()
        child.join()
