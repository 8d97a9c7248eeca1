import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { demoStack, type ScenarioCluster } from "../scenario/manifests.js";
import { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { type ShownObject, watchArguments, WatchRig } from "../scenario/watch-rig.js";
import { ApiServer } from "../support/api-server.js";
import { removeFolder } from "../support/folders.js";

const pair: ScenarioCluster = { machines: { "cp-0": { controlPlane: true }, "worker-0": {} } };

describe("two who own clusters of one name", function () {
  this.timeout(480_000);
  const close: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const one of close.splice(0).reverse()) await one();
  });

  /** Somebody else in the cloud of `first`: with a state of their own, or with its state, too. */
  const beside = async (
    first: Sandbox,
    shares: "cloud" | "state",
    env: Record<string, string> = {},
  ): Promise<Sandbox> => {
    const other = await Sandbox.make(pair, { env });
    close.push(() => other.close());
    removeFolder(other.state);
    if (shares === "state") symlinkSync(first.state, other.state);
    else {
      mkdirSync(other.state);
      symlinkSync(first.cloudFile, other.cloudFile);
    }
    return other;
  };

  it("have states of their own: the second is told, and takes over when it is asked to", async () => {
    const first = await Sandbox.make(pair);
    close.push(() => first.close());
    await first.up();
    const second = await beside(first, "cloud");
    const before = first.ledgerEnd();
    const notOwner =
      /cannot create default\/demo: the cloud holds \d resources of a cluster of that name, and this state knows none of them, made by another owner \(mark (\w{12}); here .* (?!\1)\w{12}\)/;
    assert.match((await second.plan(5)).stderr, notOwner);
    assert.match((await second.up(5)).stderr, notOwner);
    assert.deepEqual(first.mutations(before), []);
    await second.up(0, "--adopt");
    await second.assertSound(demoStack);
    assert.deepEqual(first.mutations(before), []);
    // To its maker, whose state is lost, it is no other owner's.
    first.loseState(demoStack);
    const { stderr } = await first.up(5);
    assert.match(stderr, /and this state knows none of them$/m);
  });

  it("are API servers: the second works neither on the first one's stack nor in its cloud", async () => {
    const rig = await WatchRig.start(pair);
    close.push(() => rig.stop());
    const server = await ApiServer.start({ isEmpty: true });
    close.push(() => server.stop());
    rig.watch();
    await rig.applyManifests();
    await rig.untilRunning("demo", 2, 150_000);
    const { metadata } = await rig.get("cluster", "demo");
    const before = rig.sandbox.ledgerEnd();
    const env = { KUBECONFIG: server.kubeconfig };
    for (const [shares, message] of [
      ["state", /cannot change default\/demo: it belongs to the API server \S+, and this is the/],
      ["cloud", /the cloud holds \d resources of .* made by another owner \(mark \w{12}; /],
    ] as const) {
      const second = await beside(rig.sandbox, shares, env);
      if (shares === "state") await second.capstan(0, "install");
      // Restored with all that was written on it.
      const restored = ["capstan.dev/cluster-uid", "capstan.dev/bound-to"].map(
        (name) => `${name}=${metadata.annotations?.[name] ?? ""}`,
      );
      assert.equal((await server.kubectl("apply", "-f", second.manifests)).code, 0);
      await server.kubectl("annotate", "--overwrite", "cluster", "demo", ...restored);
      const watch = second.start("watch", ...watchArguments);
      await until(
        `the second one is told, by the ${shares}`,
        async () => {
          const path = "/apis/cluster.k8s.io/v1alpha1/namespaces/default/clusters/demo";
          const { status } = (await server.admin.read(path)) as ShownObject;
          const { phase, errorReason, errorMessage } = status ?? {};
          const said = typeof errorMessage === "string" ? errorMessage : "";
          return phase === "Failed" && errorReason === "InvalidConfiguration" && message.test(said);
        },
        120_000,
      );
      await watch.killTree();
    }
    assert.deepEqual(rig.sandbox.mutations(before), []);
    await rig.untilRunning("demo", 2);
  });
});
