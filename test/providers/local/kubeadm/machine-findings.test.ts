import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { machineFindings } from "../../../../providers/local/kubeadm/machine-findings.js";
import type { JsonObject } from "../../../../src/api/json.js";
import type { PlannedStep } from "../../../../src/provider/port.js";

const make = (kind: string, wanted: JsonObject, does: PlannedStep["does"] = "create") =>
  ({ does, kind, name: "x-1", wanted }) as const;
const host = (more: JsonObject = {}, nodes = "kubeadm") => make("LocalHost", { nodes, ...more });
const balancer = make("LocalLoadBalancer", { nodes: "kubeadm" });
const network = (cidr: string) => make("LocalNetwork", { cidr });
/** One that this machine is in. */
const taken = Object.values(networkInterfaces())
  .flatMap((addresses = []) => addresses)
  .find(({ family }) => family === "IPv4")!;

describe("what a machine lacks for a plan with hosts of namespaces", () => {
  const cases: {
    name: string;
    steps: PlannedStep[];
    lack?: string;
    want: (readonly [string, RegExp])[];
  }[] = [
    { name: "nothing", steps: [host(), balancer, network("203.0.113.0/24")], want: [] },
    { name: "root", steps: [host()], lack: "no root", want: [["TOOLCHAIN", /no root$/]] },
    {
      name: "root, for a load balancer alone",
      steps: [balancer],
      lack: "no root",
      want: [["TOOLCHAIN", /no root$/]],
    },
    { name: "nothing for other hosts", steps: [host({}, "processes")], lack: "no root", want: [] },
    {
      name: "nothing for hosts that go or stay",
      steps: [make("LocalHost", { nodes: "kubeadm" }, "update")],
      lack: "no root",
      want: [],
    },
    {
      name: "a runtime of a version",
      steps: [host({ containerRuntime: { name: "containerd", version: "2.1.5" } })],
      want: [["UNSUPPORTED_CHANGE", /^host x-1 .* this machine's containerd$/]],
    },
    {
      name: "a free range, and root: both are told",
      steps: [balancer, network(`${taken.address}/32`)],
      lack: "no root",
      want: [
        ["TOOLCHAIN", /no root$/],
        ["UNSUPPORTED_CHANGE", new RegExp(`overlaps .*: \\S+ ${String(taken.cidr)}$`)],
      ],
    },
    {
      name: "nothing where networks have no hosts of namespaces",
      steps: [host({}, "processes"), network(`${taken.address}/32`)],
      want: [],
    },
  ];
  for (const { name, steps, lack, want } of cases) {
    it(name, async () => {
      const found = await machineFindings(steps, async () => lack);
      assert.deepEqual(
        found.map(({ code }) => code),
        want.map(([code]) => code),
      );
      for (const [index, [, message]] of want.entries()) {
        assert.match(found[index]?.message ?? "", message);
      }
    });
  }
});
