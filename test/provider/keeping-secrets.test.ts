import assert from "node:assert/strict";
import { CapstanError, isCapstanError } from "../../src/api/error.js";
import type { JsonObject } from "../../src/api/json.js";
import { secretText } from "../../src/api/secret-fields.js";
import { defineProvider } from "../../src/provider/define.js";
import { keepingSecrets } from "../../src/provider/keeping-secrets.js";
import { withSecretFields } from "../../src/provider/secret-fields.js";
import { SecretValues } from "../../src/provider/secret-values.js";
import { refTo } from "../../src/graph/graph.js";
import type { CreateContext, Identity, Observed } from "../../src/provider/port.js";

const who: Identity = {
  cluster: "default/a",
  clusterUid: "1",
  kind: "SafeHost",
  name: "h",
  token: "t",
};
const password = "of-the-first-user";
const token = "made-by-the-cloud";
const command = "apt-get update";
const spec = { password, bootstrap: { preKubeadmCommands: [command] } };
const made: Observed = { id: "h-1", who, phase: "ready", spec, status: { token, address: "::1" } };
const ctx = {} as CreateContext;
const absent = { locate: async () => ({ found: "none" as const }), remove: async () => {} };

/** A provider whose calls on hosts are these. */
function providerWith(calls: object, secrets = new SecretValues({})) {
  const good = defineProvider({
    name: "safe",
    apiVersion: "safe.example.dev/v1",
    machineSpec: {
      kind: "SafeMachineProviderSpec",
      schema: { properties: { password: { type: "string", writeOnly: true } } },
    },
    machine: {
      ...absent,
      create: async () => made,
      list: async () => [],
      secretOutputs: ["token"],
      ...calls,
    },
    kinds: {
      Store: {
        calls: {
          ...absent,
          create: async () => made,
          list: async () => [],
          secretOutputs: ["key"],
        },
      },
    },
    userData: {
      simulated: true,
      format: "cloud-config",
      software: () => "image",
      containerRuntime: { name: "containerd", version: "2.1.5" },
      commands: { name: "hostname", address: "hostname -I" },
    },
  });
  return keepingSecrets(good, secrets);
}

const hostCalls = (calls: object, secrets?: SecretValues) => {
  const handler = providerWith(calls, secrets).handlers.get("SafeHost");
  assert.ok(handler);
  return handler;
};

describe("a provider that keeps secrets", () => {
  it("throws what its cloud throws, with other words: in causes and hints too", async () => {
    const cause = new Error(`refused ${JSON.stringify(spec)}`);
    const error = new CapstanError({
      code: "PERMISSION",
      source: "cloud",
      message: `cannot take ${password}`,
      hint: `log in at db://admin:${password}@host`,
      cause,
    });
    const handler = hostCalls({
      create: async () => {
        throw error;
      },
    });
    await assert.rejects(handler.create(ctx, who, spec), (thrown) => {
      assert.equal(thrown, error);
      assert.ok(isCapstanError(thrown) && thrown.code === "PERMISSION");
      for (const text of [thrown.message, thrown.hint, String(thrown.stack), cause.message]) {
        assert.ok(
          text?.includes(secretText) === true || text?.includes("[redacted]") === true,
          text,
        );
        assert.ok(![password, command].some((one) => text.includes(one)), text);
      }
      return true;
    });
  });

  it("tells why something failed without them, of operations that are polled later too", async () => {
    const failure = { reason: `broken by ${password} and ${command}` };
    const told = `broken by ${secretText} and ${secretText}`;
    const handler = hostCalls({
      create: async () => ({ ...made, phase: "failed", failure, operation: "op-1" }),
      locate: async () => ({ found: "unknown", reason: `lost ${password}` }),
      poll: async () => ({ state: "failed", failure }),
    });
    assert.equal((await handler.create(ctx, who, spec)).failure?.reason, told);
    assert.deepEqual(await handler.locate(ctx, who), {
      found: "unknown",
      reason: `lost ${secretText}`,
    });
    assert.deepEqual(await handler.poll?.(ctx, "op-1"), {
      state: "failed",
      failure: { reason: told },
    });
  });

  it("learns what passes by in secret fields, and nothing of files and commands", async () => {
    const secrets = new SecretValues({});
    assert.deepEqual(await hostCalls({}, secrets).create(ctx, who, spec), made);
    assert.equal(
      secrets.scrub(`${password}, ${token}, ${command}, ::1`),
      `${secretText}, ${secretText}, ${command}, ::1`,
    );
  });
});

describe("secret fields of a graph", () => {
  const node = (kind: string, name: string, one: JsonObject) =>
    ({ kind, name, type: "resource", spec: one, dependsOn: [] }) as const;
  const graph = [
    node("Store", "store", { size: 1 }),
    node("SafeHost", "h", {
      ...spec,
      nodeAnnotations: { a: "b" },
      mount: { of: [refTo("Store", "store", "key")] },
      address: refTo("Store", "store", "address"),
    }),
    node("SafeHost", "bare", { size: 1 }),
  ];

  it("are those that the provider marks, and what takes a secret output", () => {
    const marked = withSecretFields(graph, providerWith({}));
    assert.deepEqual(
      marked.map(({ secret }) => secret),
      [
        { outputs: ["key"] },
        { inputs: ["password", "bootstrap", "nodeAnnotations", "mount"], outputs: ["token"] },
        { outputs: ["token"] },
      ],
    );
    assert.deepEqual(withSecretFields(marked, providerWith({})), marked, "idempotent");
  });
});

describe("SecretValues", () => {
  it("writes JSON that stays the same JSON, whatever its texts hold", () => {
    const secrets = new SecretValues({ DB_PASSWORD: "hunter2-hunter2" });
    secrets.learn(['quote"d-secret', { deep: "line\nsecret" }, "short"]);
    const value = {
      token: null,
      secret: true,
      password: 12,
      key: "-----BEGIN RSA PRIVATE KEY-----\nabc",
      more: ["hunter2-hunter2", 'quote"d-secret', "line\nsecret", "short"],
    };
    assert.deepEqual(JSON.parse(secrets.json(value)), {
      ...value,
      key: "[redacted]",
      more: ["[redacted]", secretText, secretText, "short"],
    });
  });
});

describe("a definition with secrets where nobody looks for them", () => {
  it("is refused", () => {
    const nested = { type: "object", properties: { key: { type: "string", writeOnly: true } } };
    assert.throws(
      () =>
        defineProvider({
          name: "safe",
          apiVersion: "safe.example.dev/v1",
          machineSpec: {
            kind: "SafeMachineProviderSpec",
            schema: { properties: { login: nested } },
          },
          machine: {
            ...absent,
            create: async () => made,
            list: async () => [],
            secretInputs: ["pasword"],
          },
        }),
      /writeOnly of login\.key must stand at login.*there is no pasword|pasword.*writeOnly of login\.key/s,
    );
  });
});
