import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { commandLine, Sandbox } from "../../scenario/sandbox.js";
import { until } from "../../scenario/until.js";
import { freePorts } from "../../support/free-ports.js";
import { Servers } from "../../support/servers.js";
import {
  controllerClients,
  plantedKinds,
  plantInside,
  plantNeighbour,
} from "./in-cluster-controllers.js";

const stack = "default.aws-demo";

/** The calls that make one resource each. */
const making = [
  "ec2:CreateVpc",
  "ec2:CreateInternetGateway",
  "ec2:CreateSubnet",
  "ec2:AllocateAddress",
  "ec2:CreateNatGateway",
  "ec2:CreateRouteTable",
  "ec2:CreateSecurityGroup",
  "ec2:AuthorizeSecurityGroupIngress",
  "elasticloadbalancing:CreateLoadBalancer",
  "elasticloadbalancing:CreateTargetGroup",
  "elasticloadbalancing:CreateListener",
  "ec2:RunInstances",
  "elasticloadbalancing:RegisterTargets",
  "ec2:CreateVolume",
];

/** The call that keeps what a host is told at its first start: no plan counts that. */
const keeping = "secretsmanager:CreateSecret";

/** The calls that take one resource each away. */
const removing = [
  "ec2:DeleteVpc",
  "ec2:DeleteInternetGateway",
  "ec2:DeleteSubnet",
  "ec2:ReleaseAddress",
  "ec2:DeleteNatGateway",
  "ec2:DeleteRouteTable",
  "ec2:DeleteSecurityGroup",
  "ec2:RevokeSecurityGroupIngress",
  "elasticloadbalancing:DeleteLoadBalancer",
  "elasticloadbalancing:DeleteTargetGroup",
  "elasticloadbalancing:DeleteListener",
  "ec2:TerminateInstances",
  "elasticloadbalancing:DeregisterTargets",
  "ec2:DeleteVolume",
];

/** Of the simulator's ledger, as docs/sim-aws.md tells it. */
interface LedgerEntry {
  readonly action: string;
  readonly outcome?: { readonly isLost: boolean; readonly changes: readonly string[] };
}

// Its workers join at an API server, and simulated hosts run none: watch.int.test.ts has one that stands for it.
describe("the example of AWS under the real engine, on a stricter cloud than moto", function () {
  this.timeout(400_000);
  let servers: Servers;
  let endpoint: string;
  let sandbox: Sandbox;

  before(async () => {
    servers = new Servers("simulated-aws");
    const [port = 0] = await freePorts(1);
    endpoint = `http://127.0.0.1:${port}`;
    const options = ["--port", String(port), "--speed", "60", "--lag", "20000"];
    servers.start("sim", process.execPath, [commandLine, "sim", "aws", ...options]);
    await until("it listens", async () => {
      servers.pidOf("sim");
      return fetch(`${endpoint}/_sim/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    });
    const env = {
      AWS_ENDPOINT_URL: endpoint,
      AWS_REGION: "eu-north-1",
      AWS_ACCESS_KEY_ID: "simulated",
      AWS_SECRET_ACCESS_KEY: "simulated",
    };
    sandbox = await Sandbox.make({ example: "aws" }, { env });
    rmSync(join(sandbox.manifests, "workers.yaml"));
  });
  after(async () => {
    await sandbox.close();
    await servers.endAll();
  });

  const asked = async <T>(route: string, body?: object): Promise<T> => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const answer = await fetch(`${endpoint}/_sim/${route}`, init);
    assert.ok(answer.ok, `${route}: ${answer.status}`);
    return (await answer.json()) as T;
  };

  /** How many rows there are of each kind, in each account and region; not of what keeps time and tokens alone. */
  const rows = async () => {
    const state = await asked<Record<string, Record<string, object>>>("state");
    const counts = Object.entries(state).flatMap(([region, tables]) =>
      Object.entries(tables).map(
        ([kind, all]) => [`${region} ${kind}`, Object.keys(all).length] as const,
      ),
    );
    return Object.fromEntries(
      counts.filter(([name, count]) => count > 0 && !/ (tokens|timers)$/.test(name)),
    );
  };

  /** Those of some calls that have changed something, those too whose answers were lost. */
  const done = async (actions: readonly string[]) => {
    const ledger = await asked<LedgerEntry[]>("ledger");
    return ledger.filter(
      ({ action, outcome }) => actions.includes(action) && (outcome?.changes.length ?? 0) > 0,
    );
  };
  const made = () => done(making);

  it("does what its plan says although an answer of each kind is lost, and leaves the account as it was", async () => {
    const controllers = controllerClients(endpoint);
    const neighbour = await plantNeighbour(controllers, { cluster: "aws-demo-2", suffix: "n" });
    const others = (await made()).length;
    const planned = await sandbox.plan(2);
    const [, count] = /Plan: (\d+) to create/.exec(planned.stdout) ?? [];
    assert.equal((await made()).length, others, "a plan makes nothing");
    const before = await rows();
    for (const action of [...making, keeping]) {
      await asked("faults", { action, effect: { kind: "cut", when: "after" } });
    }
    await sandbox.up();
    const all = (await made()).slice(others);
    assert.deepEqual(
      [...new Set(all.filter(({ outcome }) => outcome?.isLost).map(({ action }) => action))].sort(),
      [...making].sort(),
    );
    assert.equal(all.length, Number(count));
    const [kept, ...more] = await done([keeping]);
    assert.ok(kept?.outcome?.isLost === true && more.length === 0, "a secret is made once");
    assert.equal((await done(["secretsmanager:DeleteSecret"])).length, 1);
    assert.match((await sandbox.plan(0)).stdout, /No changes/);
    const inside = await plantInside(controllers, { cluster: "aws-demo", suffix: "i" });
    const destroyed = await sandbox.capstan(0, "destroy", "--yes", "--leftovers", "remove", stack);
    for (const [what, id] of Object.entries(inside)) {
      const line = `${plantedKinds[what as keyof typeof plantedKinds]} .*${id}`;
      const isKept = what === "claim";
      assert.match(destroyed.stdout, new RegExp(isKept ? `${line}.*stays` : `- ${line}`));
      assert.equal(new RegExp(`${line}.*: delete done`).test(destroyed.stdout), !isKept, what);
    }
    const removed = Object.keys(inside).filter((what) => what !== "claim");
    assert.equal((await done(removing)).length, Number(count) + removed.length);
    // Terminated instances are shown for a while.
    await asked("advance", { ms: 2 * 3_600_000 });
    const state = JSON.stringify(await asked("state"));
    for (const [what, id] of Object.entries(neighbour)) {
      assert.ok(state.includes(id), `the neighbour's ${what} is untouched`);
    }
    const { stdout } = await sandbox.capstan(0, "sweep");
    assert.match(
      stdout.replaceAll(/\s+/g, " "),
      new RegExp(`aws-demo, which is gone.*${inside.claim}`),
    );
    await controllers.ec2.deleteVolume({ VolumeId: inside.claim });
    assert.deepEqual(await rows(), before);
  });
});
