import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalCloud, type LocalResource } from "../../../providers/local/cloud.js";
import type { FaultMode } from "../../../providers/local/faults.js";
import { observe } from "../../../providers/local/handlers.js";
import { LocalProvider } from "../../../providers/local/provider.js";
import { localClusterSpec, localMachineSpec } from "../../../providers/local/specs.js";
import { isCapstanError } from "../../../src/api/error.js";
import type { JsonObject } from "../../../src/api/json.js";
import { validate } from "../../../src/api/validate.js";
import type { CallContext, Identity } from "../../../src/provider/port.js";
import { until } from "../../scenario/until.js";
import { FakeClock } from "../../support/fake-clock.js";

const bootMs = 200;

function who(kind: string, name: string): Identity {
  return { cluster: "default/demo", clusterUid: "uid-1", kind, name, token: `token of ${name}` };
}

describe("faults of the local cloud", () => {
  let folder: string;
  let clock: FakeClock;
  let cloud: LocalCloud;
  let network: LocalResource;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "capstan-faults-"));
    clock = new FakeClock();
    cloud = new LocalCloud(join(folder, "local-cloud.db"), clock);
    network = await makeNetwork();
  });
  afterEach(() => {
    cloud.close();
    rmSync(folder, { recursive: true });
  });

  const makeNetwork = (name = "network", spec: JsonObject = {}) =>
    cloud.create("LocalNetwork", who("LocalNetwork", name), {
      cidr: "10.0.0.0/16",
      bootMs,
      ...spec,
    });

  const makeHost = (name: string, spec: JsonObject = {}) =>
    cloud.create("LocalHost", who("LocalHost", name), {
      networkId: network.id,
      zone: "local-a",
      ...spec,
    });

  const stateOf = async (id: string) => (await cloud.get(id))?.state;

  /** The code of the error that a call ends with; undefined when it succeeds. */
  const codeOf = (call: Promise<unknown>): Promise<string | undefined> =>
    call.then(
      () => undefined,
      (error: unknown) => (isCapstanError(error) ? error.code : String(error)),
    );

  const effectsAfter = async (seq: number) =>
    (await cloud.ledger(seq)).map(({ call, effect, fault, name }) => [call, effect, fault, name]);

  const lastSeq = async () => (await cloud.ledger()).at(-1)?.seq ?? 0;

  it("refuses with the code of the mode, and says so in the ledger", async () => {
    const codes = { fail: "CLOUD_FAILED", throttle: "CLOUD_THROTTLED", quota: "QUOTA" } as const;
    for (const [mode, code] of Object.entries(codes)) {
      await cloud.addFault({ call: "create", mode: mode as FaultMode });
      const before = await lastSeq();
      assert.equal(await codeOf(makeHost(mode)), code);
      assert.deepEqual(await effectsAfter(before), [["create", `refused: ${mode}`, mode, mode]]);
      assert.equal(await codeOf(makeHost(mode)), undefined, "the fault was for one call");
    }
  });

  it("carries out what it does not answer, and says so in the ledger", async () => {
    await cloud.addFault({ call: "create", mode: "lose" });
    const before = await lastSeq();
    await assert.rejects(makeHost("web"), { code: "CLOUD_FAILED", ambiguous: true });
    assert.deepEqual(await effectsAfter(before), [["create", "created", "lose", "web"]]);
    const [made] = await cloud.list({ name: "web" });
    assert.equal((await makeHost("web")).id, made?.id);
  });

  it("hangs as long as it is told", async () => {
    await cloud.addFault({ call: "get", mode: "hang", ms: 7_000 });
    await assert.rejects(cloud.get(network.id), { ambiguous: true });
    assert.deepEqual(clock.slept, [7_000]);
  });

  it("logs what the cloud's own rules refuse", async () => {
    await cloud.update(network.id, { ...network.spec, machineQuota: 0 });
    const before = await lastSeq();
    assert.equal(await codeOf(makeHost("web")), "QUOTA");
    assert.deepEqual(await effectsAfter(before), [["create", "refused: QUOTA", null, "web"]]);
  });

  it("lag: shows a new resource by id and token at once, in listings later", async () => {
    await cloud.addFault({ call: "create", mode: "lag", ms: 3_000 });
    const host = await makeHost("web");
    assert.deepEqual(await cloud.list({ name: "web" }), []);
    assert.equal((await cloud.get(host.id))?.id, host.id);
    assert.equal((await cloud.getByToken("LocalHost", host.who))?.id, host.id);
    clock.advance(3_000);
    assert.deepEqual(
      (await cloud.list({ name: "web" })).map(({ id }) => id),
      [host.id],
    );
  });

  it("lag: the provider finds its host by token", async () => {
    const provider = new LocalProvider(cloud);
    await cloud.addFault({ call: "create", mode: "lag", ms: 3_000 });
    const host = await makeHost("web");
    const { signal } = new AbortController();
    const context: CallContext = { clock, signal, assertEngineAlive: () => {} };
    const handler = provider.handlers.get("LocalHost");
    const presence = await handler?.locate(context, host.who);
    assert.equal(presence?.found === "one" && presence.resource.id, host.id);
    const nobody = await handler?.locate(context, who("LocalHost", "db"));
    assert.equal(nobody?.found, "none");
    await cloud.terminate(host.id);
    assert.equal((await handler?.locate(context, host.who))?.found, "none", "it is terminated");
  });

  it("slowBoot: boots later", async () => {
    await cloud.addFault({ call: "create", mode: "slowBoot", ms: 5_000 });
    const { id } = await makeHost("web");
    clock.advance(bootMs + 4_999);
    assert.equal(await stateOf(id), "pending");
    clock.advance(1);
    assert.equal(await stateOf(id), "running");
  });

  it("neverBoots: stays pending", async () => {
    await cloud.addFault({ call: "create", mode: "neverBoots" });
    const { id, readyMs } = await makeHost("web");
    assert.equal(readyMs, Infinity);
    clock.advance(365 * 24 * 3_600_000);
    assert.equal(await stateOf(id), "pending");
    await cloud.terminate(id);
    assert.equal(await stateOf(id), "terminated");
  });

  it("breaks: fails when it would run, says why, and stays until it is removed", async () => {
    await cloud.addFault({ call: "create", mode: "breaks" });
    const { id } = await makeHost("web");
    const seen = async () => {
      const [host] = (await cloud.list({ name: "web" })).map(observe);
      return [host?.phase, host?.failure?.reason];
    };
    assert.deepEqual(await seen(), ["pending", undefined]);
    clock.advance(bootMs);
    const reason = "local cloud: the hardware below the host broke (breaks, by fault)";
    assert.deepEqual(await seen(), ["failed", reason]);
    clock.advance(60_000);
    assert.deepEqual(await seen(), ["failed", reason]);
    await cloud.terminate(id);
    assert.deepEqual(await seen(), ["gone", undefined]);
  });

  it("dies: boots and ends, in that order, at those times", async () => {
    await cloud.addFault({ call: "create", mode: "dies", ms: 1_000 });
    const start = clock.now();
    const { id } = await makeHost("web");
    const before = await lastSeq();
    clock.advance(60_000);
    assert.equal(await stateOf(id), "terminated");
    const own = (await cloud.ledger(before)).filter(
      ({ call }) => call === "boot" || call === "die",
    );
    assert.deepEqual(
      own.map(({ call, effect, atMs }) => [call, effect, atMs - start]),
      [
        ["boot", "running", bootMs],
        ["die", "terminated", bootMs + 1_000],
      ],
    );
  });

  it("spoils the course of what is made only, and several ways at once", async () => {
    const known = await makeHost("web");
    for (const mode of ["slowBoot", "lag", "lose"] as const) {
      await cloud.addFault({ call: "create", mode, name: "web" });
    }
    const before = await lastSeq();
    await assert.rejects(makeHost("web"), { ambiguous: true });
    assert.deepEqual(await effectsAfter(before), [["create", "found", "lose", "web"]]);
    await makeHost("web-2");
    assert.deepEqual((await effectsAfter(before + 1)).at(-1), [
      "create",
      "created",
      "slowBoot 5000, lag 1000",
      "web-2",
    ]);
    assert.equal(known.listedMs, known.createdMs);
  });

  it("keeps faults for hosts away from other kinds", async () => {
    await cloud.addFault({ call: "create", mode: "neverBoots" });
    const other = await makeNetwork("other");
    assert.equal(other.state, "running");
    assert.equal((await makeHost("web")).readyMs, Infinity);
  });

  it("takes faults by name, as often as it is told, and lists what is left", async () => {
    await cloud.addFault({ call: "create", mode: "fail", name: "web", times: 2 });
    assert.equal(await codeOf(makeHost("db")), undefined);
    assert.equal(await codeOf(makeHost("web-1")), "CLOUD_FAILED");
    assert.deepEqual(
      (await cloud.faults()).map(({ modes, taken, left }) => [modes, taken, left]),
      [[["fail"], 1, 1]],
    );
    assert.equal(await codeOf(makeHost("web-1")), "CLOUD_FAILED");
    assert.equal(await codeOf(makeHost("web-1")), undefined);
    assert.deepEqual(await cloud.faults(), []);
  });

  it("forgets what was added, and starts to count anew", async () => {
    await cloud.addFault({ call: "create", mode: "fail" });
    await codeOf(makeHost("web"));
    await cloud.clearFaults();
    await cloud.addFault({ call: "create", mode: "fail" });
    assert.equal(await codeOf(makeHost("web")), "CLOUD_FAILED");
  });

  describe("declared by specs", () => {
    it("meet the resource that declares them, per identity", async () => {
      const faults = [
        { call: "create", mode: "fail" },
        { call: "update", mode: "throttle" },
      ];
      assert.equal(await codeOf(makeHost("web", { faults })), "CLOUD_FAILED");
      const host = await makeHost("web", { faults });
      assert.equal(await codeOf(makeHost("db")), undefined);
      assert.equal(await codeOf(cloud.update(host.id, host.spec)), "CLOUD_THROTTLED");
      assert.equal(await codeOf(cloud.update(host.id, host.spec)), undefined);
      assert.equal(await codeOf(makeHost("web-2", { faults })), "CLOUD_FAILED");
    });

    it("meet everything in a network that declares them", async () => {
      const faults = [{ call: "create", mode: "slowBoot", name: "web", ms: 1_000, times: 10 }];
      network = await makeNetwork("slow", { faults });
      const web = await makeHost("web");
      const db = await makeHost("db");
      assert.deepEqual(
        [web, db].map(({ readyMs, createdMs }) => readyMs - createdMs),
        [bootMs + 1_000, bootMs],
      );
    });

    it("are valid for both kinds of spec, and a slip in them is not", () => {
      const value = (kind: string, fault: JsonObject) => ({
        apiVersion: "local.capstan.dev/v1alpha1",
        kind,
        faults: [fault],
      });
      const fault = { call: "create", mode: "dies", ms: 100, times: 2, probability: 0.5, seed: 1 };
      const kinds = [
        [localClusterSpec, "LocalClusterProviderSpec"],
        [localMachineSpec, "LocalMachineProviderSpec"],
      ] as const;
      for (const [schema, kind] of kinds) {
        assert.deepEqual(validate(schema, value(kind, fault)), []);
        const [slip] = validate(schema, value(kind, { call: "create", mode: "explode" }));
        assert.deepEqual(slip?.path, ["faults", 0, "mode"]);
        assert.match(
          slip?.summary ?? "",
          /"explode" is not one of fail, throttle, quota, noRoom, unusable, deny, hang/,
        );
      }
    });

    it("change in place", () => {
      const provider = new LocalProvider(cloud);
      for (const kind of ["LocalHost", "LocalNetwork"]) {
        const verdict = provider.verdict(kind, {}, { faults: [{ call: "get", mode: "fail" }] });
        assert.equal(verdict.kind, "inPlace");
      }
    });
  });

  describe("drawn by seed", () => {
    /** What the n-th of many calls meets. */
    const course = async (seed: number, rate = 0.3): Promise<(string | null)[]> => {
      await cloud.clearFaults();
      await cloud.addRandomFaults({ seed, rate, modes: ["fail", "throttle", "lose"] });
      const before = await lastSeq();
      for (let count = 0; count < 60; count += 1) await codeOf(cloud.get(network.id));
      return (await cloud.ledger(before)).map(({ fault }) => fault);
    };

    it("are the same for the same seed, and others for another", async () => {
      const first = await course(7);
      assert.deepEqual(await course(7), first);
      assert.notDeepEqual(await course(8), first);
    });

    it("go by the rate, and take every mode", async () => {
      const faults = (await course(7)).filter((fault) => fault !== null);
      assert.ok(faults.length > 8 && faults.length < 30, `${faults.length} of 60`);
      assert.deepEqual([...new Set(faults)].sort(), ["fail", "lose", "throttle"]);
      assert.deepEqual(new Set(await course(7, 0)), new Set([null]));
      assert.equal((await course(7, 1)).includes(null), false);
    });

    it("go on in the next process where they were", async () => {
      const whole = await course(7);
      await cloud.clearFaults();
      await cloud.addRandomFaults({ seed: 7, rate: 0.3 });
      const before = await lastSeq();
      for (let count = 0; count < 60; count += 1) {
        if (count === 30) cloud.close();
        await codeOf(cloud.get(network.id));
      }
      assert.deepEqual(
        (await cloud.ledger(before)).map(({ fault }) => fault),
        whole,
      );
    });

    it("--probability draws for one call and mode", async () => {
      await cloud.addFault({ call: "get", mode: "fail", probability: 0.5, seed: 3, times: 5 });
      const codes: (string | undefined)[] = [];
      for (let count = 0; count < 40; count += 1) codes.push(await codeOf(cloud.get(network.id)));
      assert.equal(codes.filter((code) => code === "CLOUD_FAILED").length, 5);
      assert.ok(codes.lastIndexOf("CLOUD_FAILED") > 5, codes.join());
    });
  });

  describe("aimed at one call", () => {
    it("let the first calls go well", async () => {
      await cloud.addFault({ call: "get", mode: "fail", skip: 2 });
      const codes: (string | undefined)[] = [];
      for (let count = 0; count < 4; count += 1) codes.push(await codeOf(cloud.get(network.id)));
      assert.deepEqual(codes, [undefined, undefined, "CLOUD_FAILED", undefined]);
    });

    it("meet the whole name only", async () => {
      await cloud.addFault({ call: "create", mode: "fail", name: "web-1", exact: true });
      assert.equal(await codeOf(makeHost("web-10")), undefined);
      assert.equal(await codeOf(makeHost("web-1")), "CLOUD_FAILED");
    });

    it("without a name meet only what is about no single resource", async () => {
      await cloud.addFault({ call: "list", mode: "fail", exact: true });
      assert.equal(await codeOf(cloud.list({ name: "web-0" })), undefined);
      assert.equal(await codeOf(cloud.list({ cluster: "default/demo" })), "CLOUD_FAILED");
    });

    it("are found in the ledger by the name that the call asked for", async () => {
      const before = await lastSeq();
      await cloud.list({ name: "web-0" });
      await cloud.getByToken("LocalHost", who("LocalHost", "web-0"));
      assert.deepEqual(
        (await cloud.ledger(before)).map(({ call, name }) => `${call} ${name}`),
        ["list web-0", "get web-0"],
      );
    });
  });

  describe("late", () => {
    it("carries the call out when its time is over", async () => {
      await cloud.addFault({ call: "create", mode: "late", ms: 5_000 });
      const begin = clock.now();
      const { name } = (await makeHost("web-0")).who;
      assert.equal(name, "web-0");
      assert.ok(clock.now() >= begin + 5_000);
    });

    it("delays as many calls as it is for, each once", async () => {
      await cloud.addFault({ call: "create", mode: "late", ms: 5_000, times: 2 });
      const before = await lastSeq();
      for (const name of ["web-0", "web-1", "web-2"]) await makeHost(name);
      const effects = (await effectsAfter(before)).filter(([call]) => call === "create");
      assert.deepEqual(
        effects.map(([, effect, , name]) => `${effect} ${name}`),
        ["delayed web-0", "created web-0", "delayed web-1", "created web-1", "created web-2"],
      );
    });

    it("carries the call out as soon as faults are cleared", async () => {
      await cloud.addFault({ call: "create", mode: "late" });
      const manual = new FakeClock(clock.now(), "manual");
      const slow = new LocalCloud(cloud.path, manual);
      const made = slow.create("LocalNetwork", who("LocalNetwork", "other"), {
        cidr: "10.1.0.0/16",
      });
      await until("the call waits", () => manual.slept.length > 0);
      assert.deepEqual((await cloud.ledger()).at(-1)?.effect, "delayed");
      await cloud.clearFaults();
      manual.advance(1_000);
      assert.equal((await made).state, "running");
      slow.close();
    });
  });

  it("people look without calling: no fault, no entry", async () => {
    await cloud.addFault({ call: "list", mode: "fail", times: 100 });
    const before = await lastSeq();
    assert.equal((await cloud.everything()).length, 1);
    assert.equal(await lastSeq(), before);
  });
});
