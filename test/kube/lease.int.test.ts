import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { LeaseNews } from "../../src/kube/lease.js";
import { leaseInApiServer } from "../../src/kube/lease-store.js";
import { until } from "../scenario/until.js";
import { ApiServer } from "../support/api-server.js";
import { contenderTiming } from "./lease-timing.js";

const program = join(fileURLToPath(import.meta.url), "..", "lease-contender.js");

type Said = (LeaseNews | { readonly kind: "deed" }) & { readonly atMs: number };

/** A contender in a process of its own. */
class Contender {
  readonly said: Said[] = [];
  private readonly child: ChildProcess;

  constructor(kubeconfig: string, name: string) {
    this.child = spawn(process.execPath, [program, kubeconfig, name], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    assert.ok(this.child.stdout !== null);
    createInterface(this.child.stdout).on("line", (line) => {
      this.said.push(JSON.parse(line) as Said);
    });
  }

  get kinds(): string[] {
    return this.said
      .map(({ kind }) => kind)
      .filter((kind) => kind !== "deed" && kind !== "trouble");
  }

  get deeds(): number[] {
    return this.said.filter(({ kind }) => kind === "deed").map(({ atMs }) => atMs);
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  async end(): Promise<void> {
    this.signal("SIGKILL");
    await until("its end", async () => this.hasEnded);
  }
}

describe("Leadership in an API server", () => {
  let server: ApiServer;
  let contenders: Contender[];

  before(async () => {
    server = await ApiServer.start();
  });
  after(() => server.stop());

  beforeEach(async () => {
    contenders = [];
    await server.kubectl("delete", "lease", "capstan", "--ignore-not-found");
  });
  afterEach(() => Promise.all(contenders.map((contender) => contender.end())));

  function contend(name: string): Contender {
    const contender = new Contender(server.kubeconfig, name);
    contenders.push(contender);
    return contender;
  }

  /** One that leads, and one that follows it. */
  async function two(): Promise<[Contender, Contender]> {
    const leader = contend("leader");
    await until("a leader", async () => leader.deeds.length > 0);
    const follower = contend("follower");
    await until("a follower", async () => follower.kinds.includes("following"));
    return [leader, follower];
  }

  async function lease(...path: string[]): Promise<string[]> {
    const output = path.map((field) => `{${field}}`).join("|");
    const args = ["get", "lease", "capstan", "-o", `jsonpath=${output}`];
    const { code, stdout, stderr } = await server.kubectl(...args);
    assert.equal(code, 0, stderr);
    return stdout.split("|");
  }

  function assertTakeTurns([first, second]: readonly [Contender, Contender]): void {
    const lastOfFirst = first.deeds.at(-1) ?? 0;
    const firstOfSecond = second.deeds[0] ?? Infinity;
    assert.ok(lastOfFirst < firstOfSecond, `${lastOfFirst} and then ${firstOfSecond}`);
  }

  it("passes on after its holder was killed, when the lease is over and not before", async () => {
    const [leader, follower] = await two();
    leader.signal("SIGKILL");
    await until("its end", async () => leader.hasEnded);
    const killedAtMs = Date.now();
    const [holder, renewed = ""] = await lease(".spec.holderIdentity", ".spec.renewTime");
    assert.equal(holder, "leader");
    await until("another leader", async () => follower.deeds.length > 0);
    const takenAtMs = follower.deeds[0] ?? 0;
    const keptMs = takenAtMs - Date.parse(renewed);
    assert.ok(keptMs >= contenderTiming.durationMs, `${keptMs} ms after its last renewal`);
    const waitedMs = takenAtMs - killedAtMs;
    assert.ok(waitedMs < 2 * contenderTiming.durationMs, `after ${waitedMs} ms`);
    assertTakeTurns([leader, follower]);
    assert.deepEqual(await lease(".spec.holderIdentity", ".spec.leaseTransitions"), [
      "follower",
      "1",
    ]);
  });

  it("is handed over before its end by a holder that is told to end", async () => {
    const [leader, follower] = await two();
    const toldAtMs = Date.now();
    leader.signal("SIGTERM");
    await until("another leader", async () => follower.deeds.length > 0);
    await until("its end", async () => leader.hasEnded);
    const waitedMs = (follower.deeds[0] ?? 0) - toldAtMs;
    // Nobody takes a lease sooner that was not handed over: the last renewal is less than this old.
    assert.ok(waitedMs < contenderTiming.durationMs - 2_000, `after ${waitedMs} ms`);
    assert.deepEqual(leader.kinds, ["leading", "released"]);
    assertTakeTurns([leader, follower]);
  });

  it("is not used by a holder that was stopped and goes on after another took it", async () => {
    const [leader, follower] = await two();
    leader.signal("SIGSTOP");
    await until("another leader", async () => follower.deeds.length > 0);
    const resumedAtMs = Date.now();
    leader.signal("SIGCONT");
    await until("word of the loss", async () => leader.kinds.includes("following"));
    assert.deepEqual(leader.kinds, ["leading", "lost", "following"]);
    assert.ok(
      leader.deeds.every((atMs) => atMs < resumedAtMs),
      "it does nothing any more",
    );
    assert.ok(!follower.kinds.includes("lost"));
  });

  it("is lost while the API server is away, and found again by one alone", async () => {
    const both = await two();
    const [leader] = both;
    await server.kill();
    await until("word of the loss", async () => leader.kinds.includes("lost"));
    const lastDeedMs = leader.deeds.at(-1) ?? 0;
    await server.restart();
    const restartedAtMs = Date.now();
    const since = ({ deeds }: Contender) => deeds.filter((atMs) => atMs > restartedAtMs);
    const first = await until("a leader", async () =>
      both.find((contender) => since(contender).length > 0),
    );
    // A second one would come forward within the time in which the other's lease ends.
    const wholeLeaseMs = contenderTiming.durationMs + contenderTiming.retryEveryMs;
    const hasLedLonger = async () => {
      const deeds = since(first);
      return (deeds.at(-1) ?? 0) - (deeds[0] ?? 0) > wholeLeaseMs;
    };
    await until("it has led for longer than a lease", hasLedLonger);
    const [other] = both.filter((contender) => contender !== first);
    assert.deepEqual(since(other!), [], "the other one does nothing");
    const news = first.kinds.slice(first === leader ? first.kinds.indexOf("lost") : 0);
    assert.equal(news.filter((kind) => kind === "leading").length, 1, news.join());
    assert.ok(lastDeedMs < restartedAtMs, "nobody does anything without a lease");
  });

  it("writes times that the API server takes, and leaves labels alone", async () => {
    await server.apply(
      "{ apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: { name: capstan, labels: { a: b } } }",
    );
    const leader = contend("leader");
    await until("a leader", async () => leader.deeds.length > 0);
    const [label, holder, seconds, acquired, renewed] = await lease(
      ".metadata.labels.a",
      ".spec.holderIdentity",
      ".spec.leaseDurationSeconds",
      ".spec.acquireTime",
      ".spec.renewTime",
    );
    assert.deepEqual(
      [label, holder, seconds],
      ["b", "leader", String(contenderTiming.durationMs / 1_000)],
    );
    assert.ok(Math.abs(Date.parse(acquired ?? "") - Date.now()) < 30_000, acquired);
    assert.ok(Date.parse(renewed ?? "") >= Date.parse(acquired ?? ""), renewed);
  });

  it("refuses a write that starts from an older version, and one over nothing", async () => {
    const store = leaseInApiServer(server.config, { namespace: "default", name: "capstan" });
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
