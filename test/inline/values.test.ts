import assert from "node:assert/strict";
import * as aws from "@pulumi/aws";
import { type Output, output, runtime, secret } from "@pulumi/pulumi";
import type { Json } from "../../src/api/json.js";
import { unknownValue } from "../../src/api/unknown.js";
import { kubeconfigsIn } from "../../src/inline/outputs.js";
import { namesUsed } from "../../src/inline/read-manifests.js";
import { type ManifestValues, settledValues, unsettledValues } from "../../src/inline/values.js";
import { failsWith } from "../support/errors.js";

/** An output that a preview does not know. */
function unknownOutput(): Output<string> {
  const known = output("x");
  return new Proxy(known, {
    get: (target, key) =>
      key === "isKnown" ? Promise.resolve(false) : (Reflect.get(target, key, target) as unknown),
  });
}

describe("Outputs that become values of manifests", () => {
  const mocks = (isPreview: boolean) =>
    runtime.setMocks(
      { newResource: ({ inputs }) => ({ id: "x", state: inputs as object }), call: () => ({}) },
      "shop",
      "dev",
      isPreview,
    );

  beforeEach(() => mocks(false));

  const settled = async (values: ManifestValues): Promise<Record<string, Json | undefined>> => {
    const { variables } = await settledValues(values);
    return Object.fromEntries(
      [...variables].map(([name, value]) => [
        name,
        typeof value === "object" ? value.typed : value,
      ]),
    );
  };

  it("are waited for, however deep they stand", async () => {
    assert.deepEqual(
      await settled({
        id: output("vpc-1"),
        later: Promise.resolve(3),
        plain: true,
        subnets: [{ id: output("subnet-1"), zone: "a", public: true }],
      }),
      {
        id: "vpc-1",
        later: 3,
        plain: true,
        subnets: [{ id: "subnet-1", zone: "a", public: true }],
      },
    );
  });

  it("know the native resources that they come from", async () => {
    const vpc = new aws.ec2.Vpc("net", { cidrBlock: "10.0.0.0/16" });
    const { resources } = await settledValues({ id: vpc.id, all: [vpc.arn, vpc.cidrBlock] });
    assert.deepEqual(resources, [vpc]);
  });

  it("have no value where they are undefined", async () => {
    const { variables } = await settledValues({ id: output(undefined as unknown as string) });
    assert.deepEqual([...variables], [["id", undefined]]);
  });

  it("are unknown in a preview, one by one", async () => {
    await mocks(true);
    const { unknown } = await settledValues({ id: unknownOutput(), known: output("x") });
    assert.deepEqual(unknown, ["id"]);
    assert.deepEqual(await settled({ ids: [unknownOutput(), "b"] }), { ids: [unknownValue, "b"] });
  });

  it("are refused in an update that does not know them", async () => {
    await assert.rejects(
      settledValues({ id: unknownOutput() }),
      failsWith("INVALID_INPUT", /cannot use id of the values of cluster\(\): it is not known/),
    );
  });

  it("are refused where a resource stands instead of one of its outputs", async () => {
    const vpc = new aws.ec2.Vpc("net", { cidrBlock: "10.0.0.0/16" });
    await assert.rejects(
      settledValues({ id: vpc as unknown as Output<string> }),
      failsWith(
        "INVALID_INPUT",
        /cannot use id of the values of cluster\(\): it is no text, number/,
      ),
    );
  });

  it("are refused as secrets, all at once", async () => {
    await assert.rejects(
      settledValues({ a: secret("x"), b: [secret("y")], c: "z" }),
      failsWith("INVALID_INPUT", /cannot use a of.*\ncannot use b of/),
    );
  });

  it("have names that manifests can write", () => {
    assert.throws(
      () => unsettledValues({ "vpc-id": "x" }),
      failsWith("INVALID_INPUT", /cannot use vpc-id of/),
    );
    const early = unsettledValues({ plain: 3, ids: [output("x"), "y"] });
    assert.deepEqual([...early.values()], [{ typed: 3 }, { typed: [unknownValue, "y"] }]);
    const texts = [{ file: "a", text: `a: \${b}, \${a}` }];
    assert.deepEqual(namesUsed(texts, ["c", "b", "a"]), ["a", "b"]);
  });

  it("find a kubeconfig wherever a state holds it", () => {
    const config = "users: [{ user: { client-certificate-data: eA== } }]";
    const state = { a: [{ plaintext: JSON.stringify(config) }], b: { c: config }, d: 1 };
    assert.deepEqual(kubeconfigsIn(JSON.stringify(state)), [config, config]);
  });
});
