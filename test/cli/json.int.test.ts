import assert from "node:assert/strict";
import { demoStack } from "../scenario/manifests.js";
import { Sandbox } from "../scenario/sandbox.js";

type Document = Readonly<Record<string, unknown>> & { readonly type: string };

/** Every line of the output as a document of its own. */
function documents(stdout: string): Document[] {
  assert.ok(stdout.endsWith("\n"));
  return stdout
    .slice(0, -1)
    .split("\n")
    .map((line) => JSON.parse(line) as Document);
}

describe("--json", () => {
  let sandbox: Sandbox;

  beforeEach(async () => {
    sandbox = await Sandbox.make({ machines: { "cp-0": { controlPlane: true } } });
  });
  afterEach(() => sandbox.close());

  const json = async (code: number, ...args: string[]): Promise<Document[]> => {
    const { stdout, stderr } = await sandbox.capstan(code, ...args, "--json");
    assert.equal(stderr, "");
    return documents(stdout);
  };

  it("prints one document per line, whatever the command", async () => {
    const files = ["-f", sandbox.manifests];
    const [plan, ...noMore] = await json(2, "plan", ...files);
    assert.equal(plan?.type, "plan");
    assert.deepEqual(noMore, []);

    const up = await json(0, "up", "--yes", ...files);
    assert.equal(up[0]?.type, "plan");
    const { tookMs, ...result } = up.at(-1) ?? { type: "" };
    assert.equal(typeof tookMs, "number");
    assert.deepEqual(result, {
      type: "result",
      cluster: "default/demo",
      changed: true,
      revision: 1,
      passes: 1,
    });
    const events = up.slice(1, -1);
    assert.deepEqual([...new Set(events.map(({ type }) => type))], ["event"]);
    const created = events.filter(
      ({ operation, state }) => operation === "create" && state === "done",
    );
    const host = sandbox.hostOf("cp-0");
    assert.deepEqual(created.at(-1), {
      type: "event",
      event: "resource",
      operation: "create",
      state: "done",
      kind: "LocalHost",
      name: host.name,
      id: host.id,
    });
    assert.deepEqual(events.at(-1), { type: "event", event: "committed", revision: 1 });

    const again = await json(0, "up", "--yes", ...files);
    assert.deepEqual(again.at(-1), { type: "result", cluster: "default/demo", changed: false });

    const [status] = await json(0, "status", demoStack);
    assert.equal(status?.type, "status");
    assert.equal(status["stack"], demoStack);
    assert.equal((await json(0, "local", "machines"))[0]?.type, "host");

    const destroyed = await json(0, "destroy", "--yes", demoStack);
    assert.deepEqual(destroyed.at(-1), { type: "result", stack: demoStack, deleted: 3, left: [] });
  });

  it("prints errors the same way", async () => {
    await sandbox.cloud.fault("create", "fail", { name: "cp-0" });
    const last = (await json(4, "up", "--yes", "--no-rollback", "-f", sandbox.manifests)).at(-1);
    assert.equal(last?.type, "error");
    assert.equal(last["code"], "CLOUD_FAILED");
    assert.match(String(last["hint"]), /^go on with capstan --state \S+ up /);
  });

  it("tells that a change was taken back, with the numbers", async () => {
    await sandbox.cloud.fault("create", "fail", { name: "cp-0" });
    const said = await json(1, "up", "--yes", "-f", sandbox.manifests);
    const { settledMs, ...inventory } = said.at(-2)?.["inventory"] as Record<string, unknown>;
    assert.deepEqual(inventory, { recorded: 0, alive: 0, differences: [] });
    assert.ok(Number(settledMs) > 0);
    assert.equal(said.at(-2)?.["outcome"], "rolledBack");
    assert.equal(said.at(-1)?.type, "error");
  });
});
