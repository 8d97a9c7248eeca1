import assert from "node:assert/strict";
import type { ParamTree } from "../../../../providers/sim/aws/protocol/params.js";
import { at } from "../xml-tree.js";
import { accessKey, SimAccount } from "./account.js";

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
    const ClientRequestToken = "0123456789abcdef0123456789abcdef";
    const asked = { Name: "s", SecretString: "x", ClientRequestToken };
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
    // Its name is taken for a moment longer.
    const early = await account.code("secretsmanager", "CreateSecret", asked);
    assert.equal(early, "InvalidRequestException");
    account.advance(5_000);
    await secrets("CreateSecret", other);
  });

  it("what waits for its end can be ended at once", async () => {
    await secrets("CreateSecret", { Name: "s", SecretString: "x" });
    await secrets("DeleteSecret", { SecretId: "s" });
    const again = await account.code("secretsmanager", "DeleteSecret", { SecretId: "s" });
    assert.equal(again, "InvalidRequestException");
    await secrets("DeleteSecret", { SecretId: "s", ForceDeleteWithoutRecovery: "true" });
    const listed = await secrets("ListSecrets", { IncludePlannedDeletion: "true" });
    assert.deepEqual(at(listed, "SecretList"), []);
  });

  it("the same version is written once, and another content under its token is refused", async () => {
    const ClientRequestToken = "another0123456789another0123456789";
    await secrets("CreateSecret", { Name: "s", SecretString: "x" });
    const asked = { SecretId: "s", SecretString: "y", ClientRequestToken };
    const first = await secrets("PutSecretValue", asked);
    assert.deepEqual(await secrets("PutSecretValue", asked), first);
    const other = { ...asked, SecretString: "z" };
    const code = await account.code("secretsmanager", "PutSecretValue", other);
    assert.equal(code, "ResourceExistsException");
  });

  it("secrets are found by the beginning of their name and of what their tags say", async () => {
    const Tags = [{ Key: "team", Value: "blue" }];
    await secrets("CreateSecret", { Name: "a-1", SecretString: "x", Tags });
    await secrets("CreateSecret", { Name: "b-1", SecretString: "x" });
    const names = async (Key: string, value: string) => {
      const listed = await secrets("ListSecrets", { Filters: [{ Key, Values: [value] }] });
      return (at(listed, "SecretList") as { Name: string }[]).map(({ Name }) => Name);
    };
    assert.deepEqual(await names("name", "b"), ["b-1"]);
    assert.deepEqual(await names("tag-key", "te"), ["a-1"]);
    assert.deepEqual(await names("tag-value", "bl"), ["a-1"]);
    const unknown = { Filters: [{ Key: "owning-service", Values: ["x"] }] };
    assert.equal(
      await account.code("secretsmanager", "ListSecrets", unknown),
      "ValidationException",
    );
  });

  const secretRefusals: readonly (readonly [string, string, Parameters])[] = [
    [
      "it is too long",
      "ValidationException",
      { Name: "s", SecretBinary: Buffer.alloc(65_537).toString("base64") },
    ],
    [
      "its token is too short",
      "InvalidParameterException",
      { Name: "s", SecretString: "x", ClientRequestToken: "t" },
    ],
  ];
  for (const [why, code, asked] of secretRefusals) {
    it(`a secret is refused: ${why}`, async () =>
      assert.equal(await account.code("secretsmanager", "CreateSecret", asked), code));
  }

  it("tags in the create of a secret are a right of their own", async () => {
    const Tags = [{ Key: "team", Value: "blue" }];
    const key = { principal: "arn:aws:iam::1:user/me", account: account.aws.settings.account };
    const allow = ["secretsmanager:CreateSecret"];
    account.aws.change({ accessKeys: { [accessKey]: { ...key, allow } } });
    await secrets("CreateSecret", { Name: "plain", SecretString: "x" });
    const code = await account.code("secretsmanager", "CreateSecret", {
      Name: "tagged",
      SecretString: "x",
      Tags,
    });
    assert.equal(code, "AccessDeniedException");
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
