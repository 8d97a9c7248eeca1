import assert from "node:assert/strict";
import { awsProvider } from "../../providers/aws/provider.js";
import { userDataFieldNames } from "../../src/api/user-data-fields.js";
import { localProvider } from "../support/manifests.js";
import { noClients } from "../providers/aws/no-clients.js";
import { CapstanError, isCapstanError } from "../../src/api/error.js";
import type { JsonObject } from "../../src/api/json.js";
import { secretText } from "../../src/api/secret-fields.js";
import { unknownValue } from "../../src/api/unknown.js";
import { defineProvider } from "../../src/provider/define.js";
import { keepingSecrets } from "../../src/provider/keeping-secrets.js";
import { withMembers } from "../../src/provider/provider-calls.js";
import { secretInputsOf, withSecretFields } from "../../src/provider/secret-fields.js";
import { SecretValues } from "../../src/provider/secret-values.js";
import { refTo } from "../../src/graph/graph.js";
import type {
  CallContext,
  CreateContext,
  Identity,
  Observed,
  Presence,
} from "../../src/provider/port.js";

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
const other: Identity = { ...who, name: "other", token: "another" };
const made: Observed = { id: "h-1", who, phase: "ready", spec, status: { token, address: "::1" } };
const ctx = {} as CreateContext;
const absent = { locate: async () => ({ found: "none" as const }), remove: async () => {} };

/** A provider whose calls on hosts are these. */
function providerWith(calls: object, secrets = new SecretValues({}), terms: object = {}) {
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
      ...terms,
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

  const content = "first-line-of-the-key\nsecond-line-of-the-key\n";
  const files = {
    files: [{ path: "/etc/agent.key", content }],
    preKubeadmCommands: ["agent join"],
  };
  const withFiles = { ...spec, token: "a-field-of-this-name", bootstrap: files };
  const printed = "agent: bad key first-line-of-the-key\r\nsecond-line-of-the-key?\r\nbye";
  const shown = `agent: bad key ${secretText}\r\n${secretText}?\r\nbye`;

  it("shows consoles without the files and commands of their hosts, line by line", async () => {
    const { userData } = providerWith({}, undefined, { console: async () => printed });
    assert.equal(await userData?.console?.(ctx, { ...made, spec: withFiles }), shown);
    assert.equal(await userData?.console?.(ctx, { ...made, who: other }), printed);
  });

  it("knows what a host was made with where its cloud shows nothing of that, until it is gone", async () => {
    const failed: Observed = { ...made, phase: "failed", spec: {}, failure: { reason: printed } };
    let presence: Presence = { found: "none" };
    const provider = providerWith(
      {
        create: async () => {
          throw new Error("too late");
        },
        list: async () => [failed],
        locate: async () => presence,
        locateMany: async (_ctx: CallContext, wanted: readonly unknown[]) =>
          wanted.map(() => ({ found: "unknown" as const, reason: printed })),
        remove: async () => undefined,
      },
      undefined,
      { console: async () => printed },
    );
    const handler = provider.handlers.get("SafeHost");
    const told = async () => [
      (await provider.inventory(ctx, { cluster: "default/a" }))[0]?.failure?.reason,
      await provider.userData?.console?.(ctx, failed),
    ];
    assert.deepEqual(await told(), [printed, printed]);
    await assert.rejects(async () => handler?.create(ctx, who, withFiles));
    assert.deepEqual(await told(), [shown, shown]);
    assert.deepEqual(
      await handler?.locateMany?.(ctx, [{ who }, { who: other }]),
      [shown, printed].map((reason) => ({ found: "unknown", reason })),
      "of each its own",
    );
    await handler?.locate(ctx, who);
    assert.deepEqual(await told(), [shown, shown], "not shown yet");
    presence = { found: "one", resource: failed };
    await handler?.remove(ctx, failed);
    await handler?.locate(ctx, who);
    assert.deepEqual(await told(), [shown, shown], "not gone yet");
    presence = { found: "none" };
    await handler?.locate(ctx, who);
    assert.deepEqual(await told(), [printed, printed]);
  });

  it("throws nothing of a host from any call that is given it", async () => {
    const fails = async () => {
      throw new Error(printed);
    };
    const names = ["put", "delete"];
    const secrets = {
      ...Object.fromEntries(names.map((name) => [name, fails])),
      fetchCommand: String,
    };
    const provider = providerWith({ create: fails, update: fails, remove: fails }, undefined, {
      console: fails,
      markLeft: fails,
      secrets,
    });
    const host = { ...made, spec: withFiles };
    const handler = provider.handlers.get("SafeHost");
    const { userData } = provider;
    const calls: Record<string, () => unknown> = {
      console: () => userData?.console?.(ctx, host),
      markLeft: () => userData?.markLeft?.(ctx, host),
      create: () => handler?.create(ctx, who, withFiles),
      update: () => handler?.update?.(ctx, made, withFiles),
      put: () => userData?.secrets?.put(ctx, "h", new Uint8Array(), { who, controlPlane: false }),
      delete: () => userData?.secrets?.delete(ctx, "h", who),
      remove: () => handler?.remove(ctx, host),
    };
    for (const [name, call] of Object.entries(calls)) {
      await assert.rejects(async () => call(), { message: shown }, name);
    }
  });

  it("finds nothing against a plan in words of what the plan is about", async () => {
    const finding = {
      code: "PERMISSION",
      message: `no right to ${command}`,
      hint: password,
    } as const;
    const secrets = new SecretValues({});
    const provider = keepingSecrets(
      withMembers(providerWith({}), { preflight: async () => [finding] }),
      secrets,
    );
    const step = { does: "create", kind: "SafeHost", name: "h" } as const;
    const unknown = { ...step, wanted: { password: unknownValue } };
    const steps = [{ ...step, wanted: spec }, unknown];
    const shown = { ...finding, message: `no right to ${secretText}`, hint: secretText };
    assert.deepEqual(await provider.preflight?.(ctx, steps, {}, []), [shown]);
    const standing = [{ kind: "SafeHost", name: "h", spec }];
    assert.deepEqual(await provider.preflight?.(ctx, [step], {}, standing), [shown]);
    assert.equal(secrets.scrub(unknownValue), unknownValue);
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

  it("are what users tell kubeadm and add to hosts, with every provider", () => {
    for (const provider of [localProvider(), awsProvider(noClients)]) {
      const inputs = secretInputsOf(provider, provider.hostKind);
      assert.deepEqual(
        inputs.filter((field) => userDataFieldNames.includes(field)),
        ["kubeadm", "bootstrap"],
      );
    }
  });

  it("are those that the provider marks, and what takes a secret output", () => {
    const marked = withSecretFields(graph, providerWith({}));
    assert.deepEqual(
      marked.map(({ secret }) => secret),
      [
        { outputs: ["key"] },
        { inputs: ["bootstrap", "mount", "nodeAnnotations", "password"], outputs: ["token"] },
        { outputs: ["token"] },
      ],
    );
    assert.deepEqual(withSecretFields(marked, providerWith({})), marked, "idempotent");
    const turned = graph.map((node) => ({
      ...node,
      spec: Object.fromEntries(Object.entries(node.spec).toReversed()),
    }));
    assert.deepEqual(
      withSecretFields(turned, providerWith({})).map(({ secret }) => secret),
      marked.map(({ secret }) => secret),
      "in one order",
    );
  });
});

describe("SecretValues", () => {
  it("takes a secret out whole that another one is a part of, whichever it has learned first", () => {
    const secrets = new SecretValues({});
    secrets.learn(["agent join", "agent join --key 123"]);
    assert.equal(secrets.scrub("sh: agent join --key 123: 1"), `sh: ${secretText}: 1`);
  });

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
