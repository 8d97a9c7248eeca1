import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeProviders, type Providers } from "../../providers/index.js";
import { unknownValue } from "../../src/api/unknown.js";
import { serveAttached } from "../../src/dynamic/attached-server.js";
import { providerProperty, providerText, typeTokenOf } from "../../src/dynamic/protocol.js";
import { stepwiseSession } from "../../src/engine/run/handler-session.js";
import { systemClock } from "../../src/provider/clock.js";
import { Command } from "../scenario/command.js";
import { type Answer, type ClientProperties, ProviderClient } from "../scenario/provider-client.js";
import { cleanEnv, repository } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { removeFolder } from "../support/folders.js";

const kind = "LocalHost";
const urn = `urn:pulumi:default.demo::capstan::capstan:index:Machine$${typeTokenOf(kind)}::cp-0`;

/** A host of our resources, with a cloud of its own that holds one network. */
interface Host {
  readonly client: ProviderClient;
  readonly providers: Providers;
  readonly networkId: string;
  close(): Promise<void>;
}

async function makeHost(
  port: (state: string, providers: Providers) => Promise<{ port: number; close(): Promise<void> }>,
): Promise<Host> {
  const state = mkdtempSync(join(tmpdir(), "capstan-test-"));
  const providers = makeProviders(state, systemClock);
  const who = { cluster: "default/demo", clusterUid: "uid", kind: "LocalNetwork", name: "network" };
  const network = await providers.local.cloud.create(
    "LocalNetwork",
    { ...who, token: "network" },
    { cidr: "10.0.0.0/16", bootMs: 0 },
  );
  const served = await port(state, providers);
  const client = new ProviderClient(served.port, urn);
  return {
    client,
    providers,
    networkId: network.id,
    close: async () => {
      client.close();
      await served.close();
      providers.close();
      removeFolder(state);
    },
  };
}

/** Pulumi's own dynamic host, started as the engine starts it for this repository's program. */
function stockHost(): Promise<Host> {
  return makeHost(async (state) => {
    const script = createRequire(import.meta.url).resolve("@pulumi/pulumi/cmd/dynamic-provider");
    const command = new Command(process.execPath, [script, "127.0.0.1:1"], {
      cwd: join(repository, "dist", "stacks", "cluster"),
      env: { ...cleanEnv(), CAPSTAN_STATE: state },
    });
    const port = await until("the dynamic host says its port", () => {
      assert.equal(command.hasEnded, false, command.said);
      return /^(\d+)\n/.exec(command.said)?.[1];
    });
    return { port: Number(port), close: () => command.killTree() };
  });
}

/** Our own, as `capstan up` attaches it. */
function attachedHost(): Promise<Host> {
  return makeHost(async (_state, { local }) => {
    const session = stepwiseSession({
      provider: local,
      clock: systemClock,
      timeoutMs: 20_000,
      assertEngineAlive: () => {},
      report: () => {},
    });
    const { debugProviders, close } = await serveAttached(session.lookup, () =>
      session.cancelled(),
    );
    return {
      port: Number(debugProviders.split(":")[1]),
      close: async () => close(),
    };
  });
}

describe("the hosts of our resources", () => {
  let hosts: Host[];

  before(async () => {
    hosts = [await stockHost(), await attachedHost()];
  });
  after(async () => {
    for (const host of hosts) await host.close();
  });

  /**
   * Does the same on both hosts, and returns the answers after having seen that they are equal, ids
   * and addresses aside. Each scenario uses a name of its own.
   */
  const onBoth = async (
    name: string,
    scenario: (
      host: Host,
      inputs: (more?: ClientProperties) => ClientProperties,
    ) => Promise<Answer[]>,
  ): Promise<Answer[]> => {
    const [stock, attached] = await Promise.all(
      hosts.map(async (host) => {
        const who = {
          cluster: "default/demo",
          clusterUid: "uid",
          kind,
          name,
          token: `token-${name}`,
        };
        const spec = { networkId: host.networkId, size: "small", zone: "a", kubelet: "1.34.2" };
        const inputs = (more: ClientProperties = {}) => ({
          who,
          spec: { ...spec, ...more },
          [providerProperty]: providerText(kind),
        });
        return anonymous(await scenario(host, inputs));
      }),
    );
    assert.deepEqual(stock, attached);
    return stock ?? [];
  };

  it("check: inputs come back, with what is missing", async () => {
    const [fine, poor, unknown] = await onBoth("check", async ({ client }, inputs) => [
      await client.check({}, inputs()),
      await client.check({}, { [providerProperty]: providerText(kind), who: "nobody" }),
      await client.check({}, { ...inputs(), spec: unknownValue }),
    ]);
    assert.deepEqual(failuresIn(fine), []);
    assert.deepEqual(failuresIn(poor), [
      ["who", 'LocalHost needs an object "who"'],
      ["spec", 'LocalHost needs an object "spec"'],
    ]);
    assert.deepEqual(failuresIn(unknown), []);
  });

  it("diff: same, changed, unknown, and never a replacement", async () => {
    const answers = await onBoth("diff", async ({ client }, inputs) => [
      await client.diff("id", inputs(), inputs()),
      await client.diff("id", inputs(), inputs({ kubelet: "1.34.3" })),
      await client.diff("id", inputs(), inputs({ size: "large" })),
      await client.diff("id", inputs(), inputs({ networkId: unknownValue })),
      await client.diff("id", { ...inputs(), status: { address: "10.0.0.9" } }, inputs()),
    ]);
    // DIFF_NONE is 1, DIFF_SOME is 2.
    assert.deepEqual(
      answers.map((answer) => resultOf(answer)["changes"]),
      [1, 2, 2, 2, 1],
    );
    for (const answer of answers) {
      assert.deepEqual(resultOf(answer)["replaces"], []);
      assert.equal(resultOf(answer)["deleteBeforeReplace"], false);
    }
  });

  it("create, create again, read, update, read, delete, read, delete again", async () => {
    const answers = await onBoth("life", async ({ client }, inputs) => {
      const created = await client.create(inputs());
      const { id, properties } = resultOf(created) as { id: string; properties: ClientProperties };
      const adopted = await client.create(inputs());
      assert.equal(resultOf(adopted)["id"], id, "one identity, one resource");
      const read = await client.read(id, properties);
      const updated = await client.update(id, properties, inputs({ kubelet: "1.34.3" }));
      const after = resultOf(updated)["properties"] as ClientProperties;
      return [
        created,
        adopted,
        read,
        updated,
        await client.read(id, after),
        await client.delete(id, after),
        await client.read(id, after),
        await client.update(id, after, inputs({ kubelet: "1.34.4" })),
        await client.delete(id, after),
      ];
    });
    const [created, adopted, read, updated, reread, deleted, gone, tooLate, again] = answers;
    const { properties } = resultOf(created) as { properties: ClientProperties };
    const { cloud, ...others } = properties;
    assert.deepEqual(Object.keys(others).sort(), [providerProperty, "spec", "status", "who"]);
    assert.deepEqual(cloud, { cloud: "<cloud>" });
    assert.deepEqual(adopted, created);
    assert.deepEqual(resultOf(read)["properties"], properties);
    assert.deepEqual(Object.keys(resultOf(read)["inputs"] as object).sort(), [
      providerProperty,
      "spec",
      "who",
    ]);
    assert.deepEqual(resultOf(reread)["properties"], resultOf(updated)["properties"]);
    assert.deepEqual(deleted, { result: {} });
    assert.deepEqual(gone, { result: { id: "" } });
    assert.match(errorOf(tooLate), /LocalHost life \(<id>\) is gone/);
    assert.deepEqual(again, { result: {} });
  });

  it("a create that the cloud accepted and that is not finished is not forgotten", async () => {
    const [failed, resumed] = await onBoth("partial", async ({ client, providers }, inputs) => {
      await client.create(inputs());
      await providers.local.cloud.addFault({
        call: "update",
        mode: "fail",
        name: "partial",
        times: 1,
      });
      const failed = await client.create(inputs({ kubelet: "1.34.3" }));
      assert.ok("unfinished" in failed && failed.unfinished);
      const { id, properties } = failed.unfinished;
      return [failed, await client.update(id, properties, inputs({ kubelet: "1.34.3" }))];
    });
    assert.match(errorOf(failed), /update failed/);
    assert.ok(failed && "unfinished" in failed && failed.unfinished);
    assert.equal(failed.unfinished.properties[providerProperty], providerText(kind));
    assert.equal((failed.unfinished.properties["spec"] as ClientProperties)["kubelet"], "1.34.2");
    const after = resultOf(resumed)["properties"] as ClientProperties;
    assert.equal((after["spec"] as ClientProperties)["kubelet"], "1.34.3");
  });

  it("a create that was refused leaves nothing to remember", async () => {
    const [refused] = await onBoth("refused", async ({ client, providers }, inputs) => {
      await providers.local.cloud.addFault({
        call: "create",
        mode: "fail",
        name: "refused",
        times: 1,
      });
      return [await client.create(inputs())];
    });
    assert.match(errorOf(refused), /create failed/);
    assert.ok(refused && !("unfinished" in refused));
  });

  it("a read that cannot tell is an error, never gone", async () => {
    const [unread] = await onBoth("unread", async ({ client, providers }, inputs) => {
      const { id, properties } = resultOf(await client.create(inputs())) as {
        id: string;
        properties: ClientProperties;
      };
      await providers.local.cloud.addFault({ call: "get", mode: "fail", name: "unread", times: 1 });
      return [await client.read(id, properties)];
    });
    assert.match(errorOf(unread), /get failed/);
  });

  it("a resource with somebody else's marks is neither changed nor deleted", async () => {
    const answers = await onBoth("theirs", async ({ client }, inputs) => {
      const { id, properties } = resultOf(await client.create(inputs())) as {
        id: string;
        properties: ClientProperties;
      };
      const who = { ...(properties["who"] as ClientProperties), clusterUid: "another" };
      const stranger = { ...properties, who };
      return [await client.update(id, stranger, stranger), await client.delete(id, stranger)];
    });
    for (const answer of answers) {
      assert.match(errorOf(answer), /LocalHost theirs: <id> is marked as default\/demo theirs/);
    }
  });
});

function resultOf(answer: Answer | undefined): ClientProperties {
  assert.ok(answer && "result" in answer, JSON.stringify(answer));
  return answer.result;
}

function errorOf(answer: Answer | undefined): string {
  assert.ok(answer && "error" in answer, JSON.stringify(answer));
  return answer.error.message;
}

function failuresIn(answer: Answer | undefined): unknown {
  return resultOf(answer)["failures"];
}

/** Answers with what each cloud picks by itself replaced: ids and addresses. */
function anonymous(answers: readonly Answer[]): Answer[] {
  const text = JSON.stringify(answers)
    .replaceAll(/\b(host|net)-[0-9a-f]{16}\b/g, "<id>")
    .replaceAll(/"cloud":"[0-9a-f]{16}"/g, '"cloud":"<cloud>"')
    .replaceAll(/\b10\.0\.0\.\d+\b/g, "<address>");
  return JSON.parse(text) as Answer[];
}
