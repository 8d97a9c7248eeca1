import assert from "node:assert/strict";
import { Leadership } from "../../src/kube/lease.js";
import { leaseClock } from "../../src/kube/lease-clock.js";
import { defaultLeaseTiming } from "../../src/kube/lease-steps.js";
import { leaseInApiServer } from "../../src/kube/lease-store.js";
import { ApiServer } from "../support/api-server.js";

describe("the Lease of a leader in an API server", () => {
  let server: ApiServer;
  before(async () => {
    server = await ApiServer.start();
  });
  after(() => server.stop());

  const lease = { namespace: "default", name: "capstan" };
  beforeEach(() => server.kubectl("delete", "lease", lease.name, "--ignore-not-found"));

  // A holder that is killed or frozen, and a server that is away: watch.int.test.ts and frozen-leader.int.test.ts in test/controller.

  it("has times that the API server takes, and the labels that were there", async () => {
    await server.apply(
      "{ apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: { name: capstan, labels: { a: b } } }",
    );
    const timing = defaultLeaseTiming;
    const stop = new AbortController();
    await new Leadership({
      store: leaseInApiServer(server.config, lease),
      me: "leader",
      clock: leaseClock(),
      timing,
      overrun: () => assert.fail("nothing was to overrun"),
    }).run(stop.signal, async () => {
      const { stdout } = await server.kubectl("get", "lease", lease.name, "-o", "json");
      const { metadata, spec } = JSON.parse(stdout) as {
        metadata: { labels: object };
        spec: Readonly<Record<string, unknown>>;
      };
      assert.deepEqual(metadata.labels, { a: "b" });
      const { holderIdentity, leaseDurationSeconds, acquireTime, renewTime } = spec;
      assert.deepEqual(
        [holderIdentity, leaseDurationSeconds],
        ["leader", timing.durationMs / 1_000],
      );
      const [acquired, renewed] = [acquireTime, renewTime].map((at) => Date.parse(String(at)));
      assert.ok(Math.abs((acquired ?? NaN) - Date.now()) < 30_000, String(acquireTime));
      assert.ok((renewed ?? NaN) >= (acquired ?? NaN), String(renewTime));
      stop.abort();
    });
  });

  it("refuses a write that starts from an older version, and one over nothing", async () => {
    const store = leaseInApiServer(server.config, lease);
    const { signal } = new AbortController();
    const shape = { holder: "a", durationMs: 5_000, transitions: 0, renewedAtMs: Date.now() };
    assert.equal(await store.read(signal), undefined);
    assert.equal(await store.replace("1", shape, signal), undefined);
    const made = await store.create({ ...shape, acquiredAtMs: Date.now() }, signal);
    assert.match(made?.uid ?? "", /^[0-9a-f-]{36}$/);
    assert.deepEqual(
      { ...made, uid: "", version: "" },
      { uid: "", version: "", holder: "a", durationMs: 5_000, transitions: 0 },
    );
    assert.equal(await store.create(shape, signal), undefined);
    const later = { ...shape, renewedAtMs: shape.renewedAtMs + 1_000 };
    const renewed = await store.replace(made?.version ?? "", later, signal);
    assert.ok(renewed !== undefined && renewed.version !== made?.version);
    assert.equal(
      await store.replace(made?.version ?? "", { ...shape, holder: "b" }, signal),
      undefined,
    );
    assert.equal((await store.read(signal))?.holder, "a");
  });
});
