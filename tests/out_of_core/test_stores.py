"""Votes in an object store: a real S3 server on this machine's loopback, credentials from the environment."""

from __future__ import annotations

import logging

import pytest

from crowdwise.core.errors import DataError
from crowdwise.out_of_core.files import expand
from crowdwise.out_of_core.gather import in_memory
from crowdwise.out_of_core.options import PartitionOptions
from crowdwise.out_of_core.planning import plan

from .conftest import cut, messy
from .test_plan import same

boto3 = pytest.importorskip("boto3")
server = pytest.importorskip("moto.server")
FIRST = PartitionOptions(duplicates="first")


@pytest.fixture(scope="module")
def store():
    """A client, and the store's address in the environment."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    with pytest.MonkeyPatch.context() as patch:
        address = "http://{}:{}".format(*running.get_host_and_port())
        for name, value in {
            "AWS_ACCESS_KEY_ID": "crowd",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": address,
            "AWS_ALLOW_HTTP": "true",
        }.items():
            patch.setenv(name, value)
        client = boto3.client("s3", endpoint_url=address, region_name="us-east-1")
        client.create_bucket(Bucket="crowd")
        yield client
    running.stop()


def upload(store, folder, prefix):
    for path in sorted(folder.iterdir()):
        store.upload_file(str(path), "crowd", f"{prefix}/{path.name}")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_objects_are_read_as_files_are(store, tmp_path, kind):
    pattern = cut(messy(300), tmp_path / "votes", 3, kind)
    upload(store, tmp_path / "votes", kind)
    address = f"s3://crowd/{kind}/*.{kind}"
    assert [file.name for file in expand(address)] == [f"s3://crowd/{kind}/v0{i}.{kind}" for i in range(3)]
    far = plan(address, tmp_path / "far", FIRST)
    same(in_memory(far), in_memory(plan(pattern, tmp_path / "near", FIRST)))
    again = (tmp_path / "far" / "plan.json").stat().st_mtime_ns
    plan(address, tmp_path / "far", FIRST)
    assert (tmp_path / "far" / "plan.json").stat().st_mtime_ns == again


def test_a_damaged_object_is_named(store, tmp_path):
    cut(messy(300), tmp_path / "votes", 3)
    upload(store, tmp_path / "votes", "bad")
    store.put_object(Bucket="crowd", Key="bad/v01.parquet", Body=b"PAR1 and then nothing")
    with pytest.raises(DataError, match=r"s3://crowd/bad/v01.parquet cannot be read"):
        plan("s3://crowd/bad/*.parquet", tmp_path / "work", FIRST)


def test_a_bucket_that_is_not_there(store, tmp_path):
    with pytest.raises(DataError, match=r"s3://nobody/v\*.parquet cannot be read"):
        plan("s3://nobody/v*.parquet", tmp_path / "work", FIRST)
