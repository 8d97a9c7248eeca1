import assert from "node:assert/strict";
import pc from "picocolors";
import {
  type ClusterReport,
  type MachineReport,
  type ResourceReport,
} from "../../src/cli/describe-report.js";
import { clusterText, machineText } from "../../src/cli/describe-text.js";
import { widthOf } from "../../src/cli/fit.js";
import { nodeAilment } from "../../src/cli/node-text.js";
import { durationText } from "../../src/cli/time-text.js";
import { nodeKey } from "../../src/graph/graph.js";
import { assertGolden } from "../support/golden.js";

const minute = 60_000;
const now = Date.UTC(2026, 0, 2, 3, 4, 5);
const plain = { colors: pc.createColors(false), columns: Infinity };

function resource(kind: string, name: string, more: Partial<ResourceReport> = {}): ResourceReport {
  return {
    key: nodeKey(kind, name),
    kind,
    name,
    phase: "ready",
    id: `${kind.toLowerCase()}-1f`,
    address: "10.0.0.7",
    sinceMs: now - 192 * 1000,
    changedMs: now - minute,
    drift: [],
    reason: "",
    ...more,
  };
}

function machine(name: string, host: Partial<ResourceReport> = {}, more = {}): MachineReport {
  const one = resource("Host", `${name}-abcdef01-1`, host);
  return {
    name,
    controlPlane: name.startsWith("cp"),
    versions: { kubelet: "1.34.2" },
    phase: one.phase,
    reason: one.reason,
    hosts: [one],
    providerSpec: { size: "small" },
    ...more,
  };
}

const set = { machineSet: "workers-5e7", machineDeployment: "workers" };
const drift = [{ path: "size", recorded: "small", seen: "large" }];
const drifted = { drift, reason: "drifted: size small -> large; capstan up corrects it" };
const lost = { phase: "gone" as const, reason: "is gone from the cloud; capstan up makes another" };

const report: ClusterReport = {
  stack: "default.prod",
  cluster: "default/prod",
  provider: "sample",
  clusterUid: "5a1b",
  revision: 3,
  openTransaction: {
    number: 4,
    direction: "forward",
    goal: { kind: "up" },
    startedAtMs: now - 2 * 60 * minute,
    wayBack: { kind: "free" },
  },
  worker: { kind: "none" },
  interruptedOperations: ["creating Host/workers-5e7-1-abcdef01-1"],
  runningOperations: [],
  infrastructure: [resource("Network", "network")],
  machines: [
    machine("cp-0", drifted),
    machine("workers-5e7-0", lost, set),
    machine("workers-5e7-1", { phase: "planned", reason: "is not made yet" }, set),
  ],
  certificates: [],
  strangers: ["Host old-1 (host-9)"],
};

/** What is cut: a sentence is better wrapped by the terminal than lost. */
function treeOf(text: string): string[] {
  return (text.split("\n\n")[1] ?? "").split("\n");
}

describe("describe as text", () => {
  it("is a tree with reasons, and what else somebody should know", () => {
    assertGolden("describe-cluster", clusterText(report, plain, now));
  });

  it("leaves out columns on narrow terminals, the reason last", () => {
    assertGolden("describe-narrow", clusterText(report, { ...plain, columns: 70 }, now));
    for (const columns of [20, 40, 60, 80, 100, 200]) {
      const text = clusterText(report, { ...plain, columns }, now);
      const widest = Math.max(...treeOf(text).map(widthOf));
      assert.ok(widest <= columns, `${widest} > ${columns}\n${text}`);
    }
  });

  it("cuts before it colours", () => {
    const text = clusterText(report, { colors: pc.createColors(true), columns: 60 }, now);
    for (const line of treeOf(text)) {
      const codes = [...line.matchAll(/\u001b\[(\d+)m/g)].map((match) => Number(match[1]));
      assert.equal(codes.length % 2, 0, JSON.stringify(line));
      const bare = line.replace(/\u001b\[\d+m/g, "");
      assert.ok(widthOf(bare) <= 60, bare);
    }
  });

  it("shows what the Node of a host says of itself, and why it is not ready", () => {
    const conditions = [
      { type: "MemoryPressure", status: "False", reason: "KubeletHasSufficientMemory" },
      {
        type: "Ready",
        status: "False",
        reason: "KubeletNotReady",
        message: "the container runtime is down",
        lastTransitionTime: new Date(now - 60_000).toISOString(),
      },
    ] as const;
    const [one] = report.machines;
    assert.ok(one !== undefined);
    const [host] = one.hosts;
    assert.ok(host !== undefined);
    const told = { ...one, hosts: [{ ...host, node: { kubelet: "1.34.2", conditions } }] };
    const lines = machineText(report, told, now).split("\n");
    const at = lines.findIndex((line) => line.includes("Node conditions:"));
    assert.deepEqual(
      lines.slice(at, at + 4).map((line) => line.trim().replace(/ {2,}/g, " | ")),
      [
        "Node conditions:",
        "TYPE | STATUS | SINCE | REASON",
        "MemoryPressure | False | KubeletHasSufficientMemory",
        "Ready | False | 1m | KubeletNotReady: the container runtime is down",
      ],
    );
    assert.equal(
      nodeAilment({ kubelet: "1.34.2", conditions }),
      "its Node says Ready False: KubeletNotReady",
    );
    assert.equal(nodeAilment({ kubelet: "1.34.2", conditions: conditions.slice(0, 1) }), undefined);
  });

  it("shows one machine in full", () => {
    const [one] = report.machines;
    assert.ok(one !== undefined);
    assertGolden("describe-machine", machineText(report, one, now));
  });

  it("shows what the node of a machine says that it runs, and since when it is ready", () => {
    const containerRuntime = { name: "containerd", version: "2.1.5" };
    const node = { kubelet: "1.33.6", containerRuntime, osImage: "Ubuntu 24.04" };
    const upgrading = machine("web-0", { node, readySinceMs: now - 2 * minute });
    const lines = machineText(report, upgrading, now).split("\n");
    const valueOf = (fact: string) =>
      lines.find((line) => line.trim().startsWith(`${fact}:`))?.replace(/^.*?: +/, "");
    assert.equal(valueOf("Kubelet"), "1.34.2");
    assert.equal(valueOf("Node"), "kubelet 1.33.6, containerd 2.1.5, Ubuntu 24.04");
    const cordoned = { ...node, cordonedBy: "capstan" } as const;
    assert.match(
      machineText(report, machine("web-0", { node: cordoned }), now),
      /Ubuntu 24\.04, cordoned by a drain of capstan\n/,
    );
    assert.equal(valueOf("Ready since"), "2026-01-02T03:02:05Z (2m ago)");
    const text = clusterText({ ...report, machines: [upgrading] }, plain, now);
    assert.match(text, /Machine web-0 +ready +1\.34\.2\n.+Host \S+ .+ 1\.33\.6 /);
  });

  it("shows what is recorded when the cloud is silent", () => {
    const machines = [machine("cp-0", { phase: "unknown" })];
    const silent = { ...report, machines, openTransaction: null, cloudError: "no answer" };
    const text = clusterText(silent, plain, now);
    assert.match(text, /Cluster prod +0 of 1 machine ready, 1 unknown/);
    assert.match(text, /The cloud could not be looked at: no answer/);
  });

  it("shows how etcd is: in short where all is well, else as a warning", () => {
    const member = (name: string) =>
      ({ host: nodeKey("Host", name), name: `Host/${name}`, votes: true }) as const;
    const well = [0, 1, 2].map((at) => ({ ...member(`cp-${at}`), state: "well" }) as const);
    const silent = { ...member("cp-2"), state: "ill", why: "its etcd does not answer" } as const;
    const unknown = { ...member("cp-0"), state: "unknown", why: "no API server answers" } as const;
    const shown = (etcd: ClusterReport["etcd"]) =>
      clusterText({ ...report, ...(etcd && { etcd }) }, plain, now)
        .split("\n")
        .filter((line) => line.startsWith("Etcd"));
    assert.deepEqual(shown(well), ["Etcd:       3 members, all well"]);
    assert.deepEqual(shown([...well.slice(0, 2), silent]), [
      "Etcd: 2 of 3 members well: Host/cp-2: its etcd does not answer",
    ]);
    assert.deepEqual(shown([unknown]), ["Etcd: not known: no API server answers"]);
    assert.deepEqual(shown(undefined), []);
  });

  const durations: { ms: number; want: string }[] = [
    { ms: -5, want: "0s" },
    { ms: 999, want: "0s" },
    { ms: 59_999, want: "59s" },
    { ms: 60_000, want: "1m" },
    { ms: 192_000, want: "3m12s" },
    { ms: 3_600_000, want: "1h" },
    { ms: 7_500_000, want: "2h5m" },
    { ms: 86_400_000 * 3 + 3_600_000 * 4, want: "3d4h" },
  ];
  for (const { ms, want } of durations) {
    it(`${ms} ms are ${want}`, () => assert.equal(durationText(ms), want));
  }
});
