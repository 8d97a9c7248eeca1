import assert from "node:assert/strict";
import type { ParamTree } from "../../../../providers/sim/aws/protocol/params.js";
import { at } from "../xml-tree.js";
import { SimAccount } from "./account.js";

type Parameters = Readonly<Record<string, ParamTree>>;

describe("parameters and secrets of the simulated AWS", () => {
  let account: SimAccount;
  const ssm = (action: string, asked: Parameters) => account.call("ssm", action, asked);
  const secrets = (action: string, asked: Parameters) =>
    account.call("secretsmanager", action, asked);

  beforeEach(() => {
    account = new SimAccount();
  });

  it("a parameter is put, read, overwritten on request, and deleted", async () => {
    const asked = { Name: "/c/node", Value: "secret", Type: "SecureString" };
    await ssm("PutParameter", asked);
    assert.equal(await account.code("ssm", "PutParameter", asked), "ParameterAlreadyExists");
    await ssm("PutParameter", { Name: "/c/node", Value: "other", Overwrite: "true" });
    const clear = await ssm("GetParameter", { Name: "/c/node", WithDecryption: "true" });
    assert.deepEqual([at(clear, "Parameter.Value"), at(clear, "Parameter.Version")], ["other", 2]);
    assert.notEqual(at(await ssm("GetParameter", { Name: "/c/node" }), "Parameter.Value"), "other");
    await ssm("DeleteParameter", { Name: "/c/node" });
    assert.equal(
      await account.code("ssm", "DeleteParameter", { Name: "/c/node" }),
      "ParameterNotFound",
    );
  });

  const refusals: readonly (readonly [string, Parameters])[] = [
    ["a standard one is too long", { Name: "a", Value: "x".repeat(4097), Type: "String" }],
    ["its name is AWS's own", { Name: "/aws/a", Value: "x", Type: "String" }],
    ["its name has a blank", { Name: "a b", Value: "x", Type: "String" }],
    [
      "it has tags and overwrites",
      { Name: "a", Value: "x", Overwrite: "true", Tags: [{ Key: "a", Value: "b" }] },
    ],
  ];
  for (const [why, asked] of refusals) {
    it(`a parameter is refused: ${why}`, async () =>
      assert.equal(await account.code("ssm", "PutParameter", asked), "ValidationException"));
  }

  it("parameters are found by path, prefix and tag", async () => {
    for (const Name of ["/a/1", "/a/b/2", "/c"])
      await ssm("PutParameter", { Name, Value: "x", Type: "String" });
    await ssm("AddTagsToResource", {
      ResourceType: "Parameter",
      ResourceId: "/c",
      Tags: [{ Key: "k", Value: "v" }],
    });
    const names = async (action: string, asked: Parameters) =>
      (at(await ssm(action, asked), "Parameters") as { Name: string }[]).map(({ Name }) => Name);
    assert.deepEqual(await names("GetParametersByPath", { Path: "/a" }), ["/a/1"]);
    assert.deepEqual(await names("GetParametersByPath", { Path: "/a", Recursive: "true" }), [
      "/a/1",
      "/a/b/2",
    ]);
    const byTag = [{ Key: "tag:k", Values: ["v"] }];
    assert.deepEqual(await names("DescribeParameters", { ParameterFilters: byTag }), ["/c"]);
    const byName = [{ Key: "Name", Option: "BeginsWith", Values: ["/a"] }];
    assert.deepEqual(await names("DescribeParameters", { ParameterFilters: byName }), [
      "/a/1",
      "/a/b/2",
    ]);
  });

  it("a secret is made once for its token, read, and deleted with or without a delay", async () => {
    const asked = { Name: "s", SecretString: "x", ClientRequestToken: "t" };
    const first = await secrets("CreateSecret", asked);
    assert.deepEqual(await secrets("CreateSecret", asked), first);
    const other = { ...asked, SecretString: "y" };
    assert.equal(
      await account.code("secretsmanager", "CreateSecret", other),
      "ResourceExistsException",
    );
    assert.equal(at(await secrets("GetSecretValue", { SecretId: "s" }), "SecretString"), "x");
    await secrets("DeleteSecret", { SecretId: "s", RecoveryWindowInDays: "7" });
    assert.equal(
      await account.code("secretsmanager", "GetSecretValue", { SecretId: "s" }),
      "InvalidRequestException",
    );
    assert.equal(
      await account.code("secretsmanager", "CreateSecret", asked),
      "InvalidRequestException",
    );
    await secrets("RestoreSecret", { SecretId: "s" });
    await secrets("DeleteSecret", { SecretId: "s", ForceDeleteWithoutRecovery: "true" });
    const gone = await account.code("secretsmanager", "GetSecretValue", { SecretId: "s" });
    assert.equal(gone, "ResourceNotFoundException");
  });

  it("the ledger has no secret in it", async () => {
    await ssm("PutParameter", { Name: "/p", Value: "planted-1", Type: "SecureString" });
    await secrets("CreateSecret", { Name: "s", SecretString: "planted-2" });
    const { subnetId, groupId } = await account.network();
    const UserData = Buffer.from("planted-3").toString("base64");
    await account.instance(subnetId, groupId, { UserData });
    const ledger = JSON.stringify(account.aws.ledger.after(0));
    assert.ok(ledger.includes("RunInstances"));
    assert.ok(!ledger.includes("planted") && !ledger.includes(UserData));
  });
});
