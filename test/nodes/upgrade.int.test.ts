import assert from "node:assert/strict";
import { until } from "../scenario/until.js";
import { type NodesCluster, type NodesMachine, stack } from "./manifests.js";
import { currentPrograms, previousPrograms } from "./programs.js";
import { NodesScenario } from "./scenario.js";
import { untilTrue } from "./until-true.js";

const minuteMs = 60_000;
const newer = currentPrograms().version;
const clusterOf = (member: NodesMachine): NodesCluster => ({
  members: { "cp-0": member },
  workers: { replicas: 1, template: {} },
});

describe("a cluster of real nodes whose control plane changes by new hosts", function () {
  this.timeout(15 * minuteMs);
  let scenario: NodesScenario;

  /** The image of each container in kube-system that `kubeadm init` has begun, by its name. */
  const images = async (): Promise<ReadonlyMap<string, string>> => {
    const path = "{range .items[*]}{.spec.template.spec.containers[0].image}{'\\n'}{end}";
    const addons = ["-n", "kube-system", "get", "ds,deploy", "-o", `jsonpath=${path}`];
    const text = await scenario.kubectl(...addons);
    const told = text.trim().split("\n");
    return new Map(told.map((image) => [image.replace(/^.*\/|:.*$/g, ""), image]));
  };
  const configured = async () => {
    const asked = ["get", "cm", "-n", "kube-system", "kubeadm-config"];
    const text = await scenario.kubectl(...asked, "-o", "jsonpath={.data.ClusterConfiguration}");
    return /kubernetesVersion: v(.*)/.exec(text)?.[1];
  };
  /** Of the one API server that is left. */
  const apiServer = async (): Promise<readonly string[]> => {
    const hosts = await scenario.hosts();
    const member = hosts.find(({ spec }) => spec["role"] === "controlPlane");
    const pod = `kube-apiserver-${member?.who.name}`;
    const command = "{.spec.containers[0].image} {.spec.containers[0].command}";
    const asked = ["get", "pod", "-n", "kube-system", pod, "-o", `jsonpath=${command}`];
    return (await scenario.kubectl(...asked)).split(/[ ,"[\]]+/);
  };

  before(async () => {
    scenario = await NodesScenario.start(previousPrograms(), clusterOf({}));
    await scenario.sandbox.up();
  });
  afterEach(async function () {
    if (this.currentTest?.state === "failed") console.log(await scenario.story());
  });
  after(async () => scenario.end());

  /** No newer API server has served. */
  const failsAndIsRolledBack = async () => {
    const before = await scenario.hosts();
    scenario.write(clusterOf({ preKubeadmCommands: ["exit 1"] }), newer);
    const { stdout } = await scenario.sandbox.up(4, "--no-rollback");
    assert.match(stdout, /ConfigMap kube-system\/kubeadm-config: kubernetesVersion v\S+ -> v/);
    assert.equal(await configured(), newer);
    await scenario.sandbox.capstan(0, "rollback", stack, "--yes");
    assert.deepEqual(await scenario.hosts(), before);
    assert.equal(await configured(), scenario.version);
    scenario.write(clusterOf({}));
    await scenario.sandbox.plan(0);
  };

  const isUpgraded = async () => {
    scenario.write(clusterOf({}), newer);
    const command = scenario.sandbox.startUp();
    await until("it waits", () => command.said.includes("waiting for 1 host"), 4 * minuteMs);
    await command.killTree();
    await scenario.sandbox.up();
    assert.equal(await configured(), newer);
    assert.ok((await apiServer()).includes(`registry.k8s.io/kube-apiserver:v${newer}`));
    await scenario.sandbox.plan(0);
    assert.equal((await images()).get("kube-proxy"), `registry.k8s.io/kube-proxy:v${newer}`);
    await untilTrue("kube-proxy runs on each Node", async () => {
      const path = "jsonpath={.status.updatedNumberScheduled} {.status.numberReady}";
      const asked = ["get", "ds", "-n", "kube-system", "kube-proxy", "-o", path];
      return (await scenario.kubectl(...asked)) === "2 2";
    });
  };

  const getsAnArgument = async () => {
    const argument = { "event-ttl": "2h0m0s" };
    assert.ok(!(await apiServer()).includes("--event-ttl=2h0m0s"));
    scenario.write(clusterOf({ apiServerArgs: argument }), newer);
    await scenario.sandbox.up();
    assert.ok((await apiServer()).includes("--event-ttl=2h0m0s"));
    await scenario.sandbox.plan(0);
  };

  it("is rolled back before a newer API server serves, is upgraded through a kill, and takes an argument on day 2", async () => {
    await failsAndIsRolledBack();
    await isUpgraded();
    await getsAnArgument();
  });
});
