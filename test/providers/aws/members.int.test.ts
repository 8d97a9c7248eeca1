import assert from "node:assert/strict";
import { Sandbox } from "../../scenario/sandbox.js";
import { judgeHosts } from "../../chaos/aws/hosts-judge.js";
import { machineOf } from "../../chaos/aws/account.js";
import { bootMs, joinMs } from "./hosts/account-hosts.js";
import { membersManifests, type MembersWish } from "./members-manifests.js";
import { type LedgerCall, type AccountInstance, WatchedAccount } from "./watched-account.js";

const stack = "default.aws-members";
const cluster = "default/aws-members";
const zones = ["eu-north-1a", "eu-north-1b", "eu-north-1c"];

/** How long a load balancer of the simulated AWS takes to find a target healthy. */
const targetMs = 30_000;

describe("three members and two workers on AWS, over three zones", function () {
  this.timeout(400_000);
  let account: WatchedAccount;
  let sandbox: Sandbox;

  before(async () => {
    account = await WatchedAccount.start();
    sandbox = await Sandbox.make({ objects: membersManifests() }, { env: account.env });
  });
  after(async () => {
    await sandbox.close();
    await account.stop();
  });

  const isMember = ({ host }: AccountInstance) => host.startsWith("cp-");

  /** All hosts are a cluster, one of each machine, and every member is behind the load balancer. */
  const isWhole = async (types: Required<MembersWish>) => {
    const hosts = account.instances();
    const machines = hosts.map(({ host }) => machineOf(host)).sort();
    assert.deepEqual(machines.slice(0, 3), ["cp-0", "cp-1", "cp-2"]);
    assert.equal(machines.length, 5);
    for (const one of hosts) {
      assert.equal(one.type, isMember(one) ? types.memberType : types.workerType, one.host);
    }
    assert.deepEqual(judgeHosts(account.tables(), cluster, await account.hosts.now()), []);
    const behind = account.tables()["targets"]?.map(({ targetId, state }) => [targetId, state]);
    const members = hosts.filter(isMember).map(({ id }) => [id, "healthy"]);
    assert.deepEqual(behind?.sort(), members.sort());
  };

  const zonesOf = (hosts: readonly AccountInstance[]) => hosts.map(({ zone }) => zone).sort();

  const change = async (wish: MembersWish, code = 0): Promise<readonly LedgerCall[]> => {
    const { lastCall } = account;
    sandbox.writeObjects(membersManifests(wish));
    await sandbox.up(code);
    return account.changesAfter(lastCall);
  };

  /** A member is made when the one before it has joined, and is found healthy by the load balancer. */
  const isMadeOneByOne = async () => {
    await sandbox.up();
    await isWhole({ memberType: "t3.medium", workerType: "t3.large" });
    const members = account.instances().filter(isMember);
    assert.deepEqual(zonesOf(members), zones, "each in a zone of its own");
    const workers = zonesOf(account.instances().filter((one) => !isMember(one)));
    assert.equal(new Set(workers).size, 2, "the workers in two zones");
    const calls = account.changesAfter(0);
    const launches = calls.filter(({ action }) => action === "ec2:RunInstances");
    assert.equal(launches.length, 5);
    const registered = calls.filter(({ action }) => action.endsWith(":RegisterTargets"));
    for (const index of [1, 2, 3]) {
      const [before, next] = [launches[index - 1], launches[index]];
      assert.ok(before !== undefined && next !== undefined);
      const joinedMs = before.atMs + bootMs + joinMs;
      assert.ok(next.atMs >= joinedMs, "whoever was made before has joined");
      const healthyMs = (registered[index - 1]?.atMs ?? Infinity) + targetMs;
      assert.ok(next.atMs >= healthyMs, "and serves behind the load balancer");
    }
  };

  /** Another host joins before one leaves, which is registered no more, and marked, before it ends; and never two at a time. */
  const isReplacedOneByOne = async () => {
    const old = account.instances().filter(isMember);
    const calls = await change({ memberType: "t3.large" });
    await isWhole({ memberType: "t3.large", workerType: "t3.large" });
    assert.deepEqual(zonesOf(account.instances().filter(isMember)), zones);
    const steps = calls.flatMap(({ action, parameters }) => {
      const of = (id: string | undefined) =>
        machineOf(old.find((one) => one.id === id)?.host ?? "somebody else");
      const [, name = ""] = /cp-\d/.exec(Object.values(parameters).join(" ")) ?? ["", ""];
      switch (action) {
        case "ec2:RunInstances":
          return [`run ${name}`];
        case "elasticloadbalancing:DeregisterTargets":
          return [`deregister ${of(parameters["Targets.member.1.Id"])}`];
        case "ec2:CreateTags":
          return Object.values(parameters).includes("capstan:left")
            ? [`mark ${of(parameters["ResourceId.1"])}`]
            : [];
        case "ec2:TerminateInstances":
          return [`terminate ${of(parameters["InstanceId.1"])}`];
        default:
          return [];
      }
    });
    assert.equal(steps.length, 12, steps.join());
    for (const round of [0, 1, 2]) {
      const [run = "", deregister = "", ...leaving] = steps.slice(4 * round, 4 * round + 4);
      assert.match(run, /^run/, steps.join());
      assert.match(deregister, /^deregister cp-\d$/, steps.join());
      const member = deregister.slice("deregister ".length);
      assert.deepEqual(leaving, [`mark ${member}`, `terminate ${member}`]);
    }
  };

  /** Workers that never run are taken back, and what was there stays. */
  const isTakenBack = async () => {
    const before = account.instances();
    account.server.aws.faults.add({
      action: "ec2:RunInstances",
      where: { InstanceType: "t3.xlarge" },
      times: 10,
      effect: { kind: "fate", fate: "fails" },
    });
    const calls = await change({ memberType: "t3.large", workerType: "t3.xlarge" }, 1);
    account.server.aws.faults.clear();
    assert.ok(calls.some(({ action }) => action === "ec2:RunInstances"));
    assert.deepEqual(
      account.instances().map(({ id }) => id),
      before.map(({ id }) => id),
    );
    await isWhole({ memberType: "t3.large", workerType: "t3.large" });
  };

  const leavesNothing = async (empty: object) => {
    await sandbox.capstan(0, "destroy", "--yes", stack);
    // What has ended is shown for an hour.
    account.server.aws.advance(2 * 3_600_000);
    assert.deepEqual(account.rows(), empty);
  };

  it("is made, replaced and taken back one member at a time, and leaves nothing", async () => {
    const empty = account.rows();
    await isMadeOneByOne();
    await isReplacedOneByOne();
    await isTakenBack();
    await leavesNothing(empty);
  });
});
