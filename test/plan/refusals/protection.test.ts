import assert from "node:assert/strict";
import { isCapstanError } from "../../../src/api/error.js";
import {
  annotated,
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../../support/manifests.js";
import { FakeEngine } from "../../support/fake-engine.js";

const member = (name: string, kubelet = "1.34.2") =>
  machine(name, { controlPlane: "1.34.2", kubelet });
const three = [member("cp-0"), member("cp-1"), member("cp-2")];
const allowing = (what: string) => annotated({ "capstan.dev/allow-removal": what }, cluster());
const protect = (object: Manifest) => annotated({ "capstan.dev/protect": "true" }, object);

/** An engine that has brought the objects about, and is told nothing of what may be lost. */
function running(...objects: readonly Manifest[]): Promise<FakeEngine> {
  return FakeEngine.running(desiredOf(objects), { allow: [] });
}

interface Case {
  readonly name: string;
  readonly given: readonly Manifest[];
  readonly then: readonly Manifest[];
  /** What is refused, a pattern for each line; none: nothing is. */
  readonly want: readonly RegExp[];
}

const cases: readonly Case[] = [
  {
    name: "the only control-plane machine is gone from the manifests",
    given: [cluster(), member("cp-0"), machineDeployment("web", 2)],
    then: [cluster(), machineDeployment("web", 2)],
    want: [/^cannot remove the control plane of Cluster default\/prod: .* Machine cp-0\b/],
  },
  {
    name: "every control-plane machine is gone",
    given: [cluster(), ...three, machine("w")],
    then: [cluster(), machine("w")],
    want: [/none of its 3 members would stay/],
  },
  {
    name: "fewer than the quorum would stay",
    given: [cluster(), ...three, machine("w")],
    then: [cluster(), member("cp-0"), machine("w")],
    want: [/1 of its 3 members would stay, fewer than a majority of them \(2\)/],
  },
  {
    name: "the quorum stays",
    given: [cluster(), ...three],
    then: [cluster(), member("cp-0"), member("cp-1")],
    want: [],
  },
  {
    name: "members are replaced under their names",
    given: [cluster(), ...three],
    then: [
      cluster(),
      ...["cp-0", "cp-1", "cp-2"].map((name) =>
        machine(name, { controlPlane: "1.34.2", size: "large" }),
      ),
    ],
    want: [],
  },
  {
    name: "the only member gets another name",
    given: [cluster(), member("cp-0")],
    then: [cluster(), member("cp-1")],
    want: [/none of its 1 member would stay/],
  },
  {
    name: "a control plane in a set is scaled below its quorum",
    given: [cluster(), machineSet("cp", 3, { controlPlane: "1.34.2" })],
    then: [cluster(), machineSet("cp", 1, { controlPlane: "1.34.2" })],
    want: [/1 of its 3 members would stay/],
  },
  {
    name: "a MachineDeployment rolls its control plane",
    given: [cluster(), machineDeployment("cp", 3, { controlPlane: "1.34.2" }), machine("w")],
    then: [
      cluster(),
      machineDeployment("cp", 3, { controlPlane: "1.34.2", size: "large" }),
      machine("w"),
    ],
    want: [],
  },
  {
    name: "a MachineDeployment rolls its only member",
    given: [cluster(), machineDeployment("cp", 1, { controlPlane: "1.34.2" })],
    then: [cluster(), machineDeployment("cp", 1, { controlPlane: "1.34.2", size: "large" })],
    want: [],
  },
  {
    name: "a MachineDeployment rolls its control plane and is scaled below its quorum",
    given: [cluster(), machineDeployment("cp", 3, { controlPlane: "1.34.2" })],
    then: [cluster(), machineDeployment("cp", 1, { controlPlane: "1.34.2", size: "large" })],
    want: [/fewer than a majority of them \(2\)/],
  },
  {
    name: "the control plane moves to another MachineDeployment",
    given: [cluster(), machineDeployment("cp", 3, { controlPlane: "1.34.2" })],
    then: [cluster(), machineDeployment("cp2", 3, { controlPlane: "1.34.2" })],
    want: [/none of its 3 members would stay/],
  },
  {
    name: "the Cluster allows to lose its control plane",
    given: [cluster(), ...three, machine("w")],
    then: [allowing("workers, control-plane"), machine("w")],
    want: [],
  },
  {
    name: "the Cluster allows something else",
    given: [cluster(), ...three, machine("w")],
    then: [allowing("workers"), machine("w")],
    want: [/control plane/],
  },
  {
    name: "what owned all workers is gone",
    given: [cluster(), member("cp-0"), machineDeployment("web", 2), machine("gpu")],
    then: [cluster(), member("cp-0")],
    want: [
      /^cannot remove all 3 workers of Cluster default\/prod: Machine gpu, MachineDeployment web/,
    ],
  },
  {
    name: "all workers are scaled away",
    given: [cluster(), member("cp-0"), machineDeployment("web", 2)],
    then: [cluster(), member("cp-0"), machineDeployment("web", 0)],
    want: [],
  },
  {
    name: "other workers come in their place",
    given: [cluster(), member("cp-0"), machineDeployment("web", 2)],
    then: [cluster(), member("cp-0"), machineDeployment("web2", 1)],
    want: [],
  },
  {
    name: "some workers are gone",
    given: [cluster(), member("cp-0"), machineDeployment("web", 2), machine("gpu")],
    then: [cluster(), member("cp-0"), machine("gpu")],
    want: [],
  },
  {
    name: "the Cluster allows to lose its workers",
    given: [cluster(), member("cp-0"), machineDeployment("web", 2)],
    then: [allowing("workers"), member("cp-0")],
    want: [],
  },
  {
    name: "protected objects are gone",
    given: [
      cluster(),
      member("cp-0"),
      protect(machineDeployment("web", 1)),
      protect(machine("db")),
    ],
    then: [cluster(), member("cp-0"), machine("gpu")],
    want: [
      /^cannot remove Machine default\/db: it carries the annotation capstan.dev\/protect/,
      /^cannot remove MachineDeployment default\/web: /,
    ],
  },
  {
    name: "what is protected is changed and kept",
    given: [cluster(), member("cp-0"), protect(machineDeployment("web", 1))],
    then: [cluster(), member("cp-0"), protect(machineDeployment("web", 0, { size: "large" }))],
    want: [],
  },
  {
    name: "everything at once is told",
    given: [cluster(), member("cp-0"), protect(machineDeployment("web", 1))],
    then: [cluster()],
    want: [/the control plane/, /all 1 worker\b/, /MachineDeployment default\/web/],
  },
];

describe("what a cluster cannot lose by accident", () => {
  for (const { name, given, then, want } of cases) {
    it(`${want.length === 0 ? "may go" : "is refused"}: ${name}`, async () => {
      const engine = await running(...given);
      const planned = engine.plan(desiredOf(then));
      if (want.length === 0) {
        await planned;
        return;
      }
      await assert.rejects(planned, (error: unknown) => {
        assert.ok(isCapstanError(error), String(error));
        assert.equal(error.code, "PROTECTED");
        const lines = error.message.split("\n");
        assert.equal(lines.length, want.length, error.message);
        want.forEach((pattern, index) => {
          assert.match((lines[index] ?? "").replace(/^\S+:\d+:\d+: /, ""), pattern);
        });
        return true;
      });
    });
  }

  it("may go once it was applied without the annotation", async () => {
    const web = machineDeployment("web", 1);
    const rest = [cluster(), member("cp-0"), machine("gpu")];
    const engine = await running(...rest, protect(web));
    await engine.settle(desiredOf([...rest, web]));
    assert.equal((await engine.plan(desiredOf(rest))).machines.length > 0, true);
  });

  it("may go when what asked for it never came to its end", async () => {
    const engine = await running(cluster(), member("cp-0"));
    const more = desiredOf([cluster(), ...three, protect(machine("w"))]);
    await engine.up(more, [{ at: "call", number: 2, what: "killAfter" }]);
    await engine.plan(desiredOf([cluster(), member("cp-0")]));
  });

  it("may go before anything was made of it, and not once it was", async () => {
    const begunWith = async (calls: number) => {
      const engine = new FakeEngine({ allow: [] });
      await engine.up(desiredOf([cluster(), ...three]), [
        { at: "call", number: calls, what: "killAfter" },
      ]);
      return engine;
    };
    const one = desiredOf([cluster(), member("cp-0")]);
    const early = await begunWith(0);
    assert.equal(early.hosts().length, 0);
    assert.equal((await early.up(one)).kind, "done");
    const late = await begunWith(6);
    assert.ok(late.hosts().length > 1);
    await assert.rejects(late.plan(one), { code: "PROTECTED" });
  });
});
