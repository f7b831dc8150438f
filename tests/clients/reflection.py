"""A client that shares nothing with the project: no generated code, only server reflection.

Usage: python tests/clients/reflection.py PATH_OF_MAITRED

Starts a server over skill directories as they are found in public (no triggers, `--untriggered ranked`), selects a
menu, gets the tool, loads the playbook, and is refused an invented slug.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_status import rpc_status

SKILLS = {
    "tide-tables": ("Reads tide tables. Use when planning when a boat can leave or enter a harbour.", "1. Find the port."),
    "choir-rota": ("Builds the rota of a choir. Use for swaps, absences and substitutes.", "1. List the singers."),
    "kiln-log": ("Keeps the log of a pottery kiln. Use when clay or glaze is fired.", "1. Note the cone."),
}
TURN = "when can my boat leave the harbour, given the tide?"


class Client:
    """Calls methods of a service that it has never seen before."""

    def __init__(self, address):
        self.channel = grpc.insecure_channel(address)
        self.pool = DescriptorPool(ProtoReflectionDescriptorDatabase(self.channel))

    def call(self, method, **fields):
        service, name = method.split("/")
        descriptor = self.pool.FindServiceByName(service).methods_by_name[name]
        request, answer = GetMessageClass(descriptor.input_type), GetMessageClass(descriptor.output_type)
        stub = self.channel.unary_unary(
            f"/{method}", request_serializer=request.SerializeToString, response_deserializer=answer.FromString
        )
        return stub(request(**fields), timeout=5)

    def refusal(self, method, **fields):
        """The code and the ErrorInfo reason of a call that must fail."""
        try:
            answer = self.call(method, **fields)
        except grpc.RpcError as error:
            info = error_details_pb2.ErrorInfo()
            for detail in rpc_status.from_call(error).details:
                detail.Unpack(info)
            return error.code().name, info.reason
        raise AssertionError(f"{method} was not refused: {answer}")


def serve(binary, skills):
    command = [binary, "serve", "--skills", skills, "--untriggered", "ranked"]
    server = subprocess.Popen(
        command + ["--listen", "127.0.0.1:0", "--http", "off", "--log-format", "json"], stderr=subprocess.PIPE, text=True
    )
    for line in server.stderr:
        entry = json.loads(line)
        if entry["message"] == "serving":
            return server, entry["listen"]
    raise AssertionError("the server did not start")


def checks(client):
    """Yields the name of each check that passed."""
    select, load = "maitred.v1.MenuService/SelectMenu", "maitred.v1.MenuService/LoadPlaybook"
    menu = client.call(select, agent_id="default", text=TURN, run_id="r", turn_id="1", tool_format=2)
    assert [item.slug for item in menu.items] == ["tide-tables"], menu
    assert menu.items[0].reason.WhichOneof("kind") == "semantic", menu
    yield "a menu over a directory without triggers"

    tool = json.loads(menu.tool.definition_json)
    assert tool["function"]["parameters"]["properties"]["slug"]["enum"] == ["tide-tables"], tool
    yield "the tool with exactly the menu's slugs"

    ids = {"menu_token": menu.menu_token, "run_id": "r", "turn_id": "1"}
    playbook = client.call(load, slug="tide-tables", **ids)
    assert playbook.instructions == "1. Find the port.\n" and not playbook.pinned, playbook
    yield "the playbook, word for word"

    assert client.refusal(load, slug="invented", **ids) == ("NOT_FOUND", "SLUG_NOT_ON_MENU")
    assert client.refusal(load, slug="kiln-log", **ids) == ("NOT_FOUND", "SLUG_NOT_ON_MENU")
    yield "a slug off the menu is refused"

    forged = {**ids, "menu_token": menu.menu_token[:-2] + "AA"}
    assert client.refusal(load, slug="tide-tables", **forged) == ("PERMISSION_DENIED", "MENU_TOKEN_INVALID")
    yield "a forged token is refused"

    large = client.refusal(select, agent_id="default", text=TURN, recent=["x" * 131072] * 3)
    assert large == ("RESOURCE_EXHAUSTED", "MESSAGE_TOO_LARGE"), large
    empty = client.call(select, agent_id="default", text="what is the capital of Peru?")
    assert not empty.items and empty.menu_token and not empty.HasField("tool"), empty
    yield "an oversized message leaves the connection alive, and nothing fitting is an answer"

    assert client.refusal("maitred.v1.RunService/EndRun") == ("UNIMPLEMENTED", "NOT_BUILT_YET")
    health = client.call("grpc.health.v1.Health/Check", service="maitred.v1.MenuService")
    assert health.status == 1, health
    yield "health serves, and what is not built says so"


def main():
    binary = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        for name, (description, body) in SKILLS.items():
            skill = pathlib.Path(folder, name)
            skill.mkdir()
            text = f"---\nname: {name}\ndescription: {description}\n---\n{body}\n"
            skill.joinpath("SKILL.md").write_text(text, encoding="utf-8")
        server, address = serve(binary, folder)
        try:
            passed = 0
            for name in checks(Client(address)):
                print(f"ok: {name}")
                passed += 1
        finally:
            server.terminate()
        assert server.wait(timeout=15) == 0, "the server did not end cleanly"
    print(f"client: {passed} passed, 0 failed")


if __name__ == "__main__":
    main()
