import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { CustomObjectsApi } from "@kubernetes/client-node";
import {
  type CustomResourceDefinition,
  customResourceDefinitions,
  definitionsVersionAnnotation,
} from "../../src/api/crd.js";
import { awsProvider } from "../../providers/aws/provider.js";
import { awsApiVersion } from "../../providers/aws/specs/cluster-spec.js";
import { identityDefinitions } from "../../src/api/identity-crd.js";
import { namesOf } from "../../src/api/kind-names.js";
import { selectorText } from "../../src/api/label-selector.js";
import { type Kind, schemas } from "../../src/api/schema.js";
import type {
  ClusterStatus,
  MachineDeploymentStatus,
  MachineStatus,
} from "../../src/api/status.js";
import type { Desired } from "../../src/api/types.js";
import { validate } from "../../src/api/validate.js";
import { KubeApi } from "../../src/kube/api.js";
import { IdentityCache } from "../../src/kube/identity-cache.js";
import { saidBy, within } from "../../src/kube/requests.js";
import { readDesired } from "../../src/manifest/desired.js";
import { diagnosticText } from "../../src/manifest/diagnostic.js";
import { checkImmutable } from "../../src/plan/refusals/immutable.js";
import type { Target } from "../../src/records/target.js";
import { Command, type Outcome } from "../scenario/command.js";
import { cleanEnv, commandLine, repository } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { ApiServer } from "../support/api-server.js";
import { freePorts } from "../support/free-ports.js";
import {
  cluster,
  localProvider,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
  textOf,
} from "../support/manifests.js";
import { noClients } from "../providers/aws/no-clients.js";
import { accepted, changed, refusals, refusedChanges } from "./refusals.js";

const definitions = customResourceDefinitions();
const identities = identityDefinitions([awsProvider(noClients)]);
const installable = [...definitions, ...identities];
const names = installable.map(({ metadata }) => metadata.name);
const ofDefinitions = { group: "apiextensions.k8s.io", version: "v1" };
const ourGroup = { group: "cluster.k8s.io", version: "v1alpha1" };
const strictly = { dryRun: "All", fieldValidation: "Strict" };

/** An API server, and the commands that are tried on it. */
class Place {
  readonly api: CustomObjectsApi;

  constructor(readonly server: ApiServer) {
    this.api = server.config.makeApiClient(CustomObjectsApi);
  }

  /** kubectl's answer; fails unless it exits with 0. */
  async kubectl(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.server.kubectl(...args);
    assert.equal(code, 0, `kubectl ${args.join(" ")}\n${stderr}`);
    return stdout;
  }

  async capstan(code: number, ...args: string[]): Promise<Outcome> {
    const env = { ...cleanEnv(), KUBECONFIG: this.server.kubeconfig };
    const options = { cwd: this.server.folder, env };
    const outcome = await new Command(process.execPath, [commandLine, ...args], options).finished;
    const told = `capstan ${args.join(" ")}\n${outcome.stdout}${outcome.stderr}`;
    assert.equal(outcome.code, code, told);
    return outcome;
  }

  /** Who has written what of each, but for its status, which the server writes a moment later. */
  async definitionsHeld(): Promise<string[]> {
    const found = await this.kubectl("get", "crd", "-o=json", "--show-managed-fields");
    const { items } = JSON.parse(found) as {
      readonly items: readonly {
        readonly metadata: {
          readonly name: string;
          readonly annotations?: object;
          readonly managedFields?: readonly { readonly subresource?: string }[];
        };
        readonly spec: object;
      }[];
    };
    return items.map(({ metadata: { name, annotations, managedFields = [] }, spec }) => {
      const writes = managedFields.filter(({ subresource }) => subresource === undefined);
      return JSON.stringify({ name, annotations, writes, spec });
    });
  }
}

/** How kubectl is told of what a folder holds: its files, or its overlays. */
function namedToKubectl(folder: string): string[][] {
  // A Pulumi program has its manifests apart from its own file.
  const clusters = join(folder, "clusters");
  if (existsSync(clusters)) return readdirSync(clusters).map((one) => ["-f", join(clusters, one)]);
  const files = readdirSync(folder).filter((file) => file.endsWith(".yaml"));
  if (files.length > 0) return files.map((file) => ["-f", join(folder, file)]);
  return readdirSync(folder).map((overlay) => ["-k", join(folder, overlay)]);
}

describe("an API server that knows none of our kinds", () => {
  let place: Place;

  before(async () => {
    place = new Place(await ApiServer.start({ isEmpty: true, users: { somebody: [] } }));
  });
  after(() => place.server.stop());
  // Whatever is tried here, nothing comes of it.
  afterEach(async () => assert.deepEqual(await place.definitionsHeld(), []));

  for (const definition of installable) {
    const { kind } = definition.spec.names;
    it(`takes the definition of ${kind} as it is, by its strictest rules`, async () => {
      const at = { ...ofDefinitions, plural: "customresourcedefinitions" };
      const answer: unknown = await place.api
        .createClusterCustomObject({ ...at, body: definition, ...strictly }, within())
        .catch((error: unknown) => assert.fail(saidBy(error)));
      const { metadata, spec } = answer as CustomResourceDefinition;
      assert.deepEqual(metadata.annotations, definition.metadata.annotations);
      assert.deepEqual(spec.versions[0].schema, definition.spec.versions[0].schema);
    });
  }

  it("says what an install would do", async () => {
    const { stdout } = await place.capstan(0, "install", "--dry-run");
    assert.match(stdout, /^machines\.cluster\.k8s\.io +would be created$/m);
    assert.match(stdout, /^9 of 9 would change in .*; nothing was done$/m);
  });

  it("tells an installer which rights are missing", async () => {
    const { kubeconfig } = place.server.as("somebody");
    const { stderr } = await place.capstan(1, "install", "--kubeconfig", kubeconfig);
    assert.match(stderr, /User "somebody" cannot get resource "customresourcedefinitions"/);
    assert.match(stderr, /rights to get, create and patch customresourcedefinitions/);
    const rights = ["--verb=get", "--resource=customresourcedefinitions"];
    await place.kubectl("create", "clusterrole", "reader", ...rights);
    const binding = ["--clusterrole=reader", "--user=somebody"];
    await place.kubectl("create", "clusterrolebinding", "reads", ...binding);
    const more = await place.capstan(1, "install", "--kubeconfig", kubeconfig);
    assert.match(more.stderr, /cannot install .*User "somebody" cannot patch resource/);
  });

  it("is told apart from one that does not answer, or does not know who asks", async () => {
    const stranger = place.server.userWith("wrong", "stranger").kubeconfig;
    const unknown = await place.capstan(1, "install", "--kubeconfig", stranger);
    assert.match(unknown.stderr, /it does not know who asks\nhint: log in to https:/);
    const [port = 0] = await freePorts(1);
    const nobody = join(place.server.folder, "nobody.kubeconfig");
    const text = readFileSync(place.server.kubeconfig, "utf8");
    writeFileSync(nobody, text.replaceAll(place.server.url, `https://127.0.0.1:${port}`));
    const silent = await place.capstan(1, "install", "--kubeconfig", nobody);
    assert.match(silent.stderr, /ECONNREFUSED .*\nhint: is https:.* the right API server/);
    const context = await place.capstan(65, "install", "--context", "elsewhere");
    assert.match(context.stderr, /has no context "elsewhere"\nhint: .*there are: admin/);
  });
});

describe("an API server that knows our kinds", () => {
  let place: Place;
  let installed: Outcome;
  const kubectl = (...args: string[]) => place.kubectl(...args);

  before(async () => {
    place = new Place(await ApiServer.start({ isEmpty: true }));
    installed = await place.capstan(0, "install");
  });
  after(() => place.server.stop());

  it("was told them by one command, which changes nothing the second time", async () => {
    for (const name of names) assert.match(installed.stdout, lineOf(name, "created"));
    const where = /^All 9 are served by https:\/\/127\.0\.0\.1:\d+ \(context admin\)/m;
    assert.match(installed.stdout, where);
    const before = await place.definitionsHeld();
    assert.equal(before.length, 9);
    const second = await place.capstan(0, "install");
    for (const name of names) assert.match(second.stdout, lineOf(name, "unchanged"));
    assert.deepEqual(await place.definitionsHeld(), before);
  });

  it("gets back what somebody changed in a definition, if it is asked by force", async () => {
    const patch = '[{"op":"replace","path":"/spec/names/shortNames","value":["mach"]}]';
    await kubectl("patch", "crd", "machines.cluster.k8s.io", "--type=json", "-p", patch);
    // The server writes the names that it has accepted a moment later.
    const accepted = "--for=jsonpath={.status.acceptedNames.shortNames[0]}=mach";
    await kubectl("wait", accepted, "--timeout=30s", "crd/machines.cluster.k8s.io");
    const before = await place.definitionsHeld();
    const { stderr } = await place.capstan(1, "install");
    const conflict =
      /machines\.cluster\.k8s\.io: .*conflict with "kubectl-patch"[^]*\nhint: --force/;
    assert.match(stderr, conflict);
    assert.deepEqual(await place.definitionsHeld(), before);
    const { stdout } = await place.capstan(0, "install", "--force", "--json");
    const lines = stdout.trimEnd().split("\n");
    const outcomes = lines.map((line) => JSON.parse(line) as { name?: string; outcome?: string });
    const configured = outcomes.filter(({ outcome }) => outcome === "configured");
    assert.deepEqual(
      configured.map(({ name }) => name),
      ["machines.cluster.k8s.io"],
    );
  });

  it("keeps the definitions of a newer release, unless it is asked by force", async () => {
    const newer = `${definitionsVersionAnnotation}=99`;
    await kubectl("annotate", "--overwrite", "crd", "clusters.cluster.k8s.io", newer);
    const before = await place.definitionsHeld();
    const { stderr } = await place.capstan(1, "install");
    assert.match(stderr, /clusters\.cluster\.k8s\.io: a newer release has installed version 99/);
    assert.deepEqual(await place.definitionsHeld(), before);
    await place.capstan(0, "install", "--force");
    assert.notDeepEqual(await place.definitionsHeld(), before);
  });

  it("shows which credentials there are, whom they are for, and the labels of namespaces", async () => {
    const { config } = place.server;
    const providers = [awsProvider(noClients)];
    let told = 0;
    const onChange = () => void (told += 1);
    const api = new KubeApi(config);
    const cache = new IdentityCache({ config, api, providers, random: Math.random, onChange });
    cache.start();
    try {
      await until("all kinds are listed", () => cache.isSynced);
      assert.equal(cache.labelsOf("default")["kubernetes.io/metadata.name"], "default");
      const spec = {
        roleARN: "arn:aws:iam::123456789012:role/capstan",
        allowedNamespaces: { list: ["default"], selector: { matchLabels: { stage: "prod" } } },
      };
      const metadata = { name: "team" };
      const kind = "AWSClusterRoleIdentity";
      const object = { apiVersion: awsApiVersion, kind, metadata, spec };
      await place.server.apply(JSON.stringify(object));
      await until("it is shown", () => cache.objects().length === 1);
      assert.deepEqual(cache.objects(), [{ name: `${kind} team`, value: object }]);
      const before = told;
      await kubectl("label", "namespace", "default", "stage=prod");
      await until("its label is known", () => cache.labelsOf("default")["stage"] === "prod");
      assert.ok(told > before);
      await kubectl("delete", "awsclusterroleidentities", "team");
      await until("it is gone", () => cache.objects().length === 0);
    } finally {
      cache.stop();
    }
  });

  describe("and its objects", () => {
    before(async () => {
      // A definition that is established takes its first object a moment later.
      for (const one of [cluster(), machine("m"), machineSet("s", 1), machineDeployment("d", 1)]) {
        await until(`objects of kind ${String(one["kind"])}`, () => post(one).then(isAccepted));
      }
    });
    beforeEach(async () => {
      for (const { spec } of definitions) {
        const at = { ...ourGroup, plural: spec.names.plural, namespace: "default" };
        await place.api.deleteCollectionNamespacedCustomObject(at, within());
      }
    });

    interface Answer {
      readonly said: string;
      readonly object?: Manifest;
    }
    const isAccepted = ({ object }: Answer) => object !== undefined;
    const placeOf = (object: Manifest) => {
      const { plural } = namesOf(String(object["kind"]));
      return { ...ourGroup, plural, namespace: "default" };
    };
    const answerTo = async (request: Promise<unknown>): Promise<Answer> => {
      try {
        return { said: "", object: (await request) as Manifest };
      } catch (error) {
        return { said: saidBy(error) };
      }
    };
    const post = (body: Manifest, how: object = strictly) =>
      answerTo(
        place.api.createNamespacedCustomObject({ ...placeOf(body), body, ...how }, within()),
      );
    const patch = (body: Manifest) => {
      const { name } = body["metadata"] as { name: string };
      const at = { ...placeOf(body), name, body };
      return answerTo(
        place.api.patchNamespacedCustomObject(at, within("application/merge-patch+json")),
      );
    };
    const patchStatus = async (object: Manifest, status: object) => {
      const { name } = object["metadata"] as { name: string };
      const at = { ...placeOf(object), name, body: { status } };
      await place.api.patchNamespacedCustomObjectStatus(at, within("application/merge-patch+json"));
    };
    const create = async (object: Manifest): Promise<Manifest> => {
      const { said, object: made } = await post(object, { fieldValidation: "Strict" });
      assert.ok(made !== undefined, said);
      return made;
    };

    for (const { name, object, at, words, wordsOfCli = words } of refusals) {
      it(`are refused with the words of validate: ${name}`, async () => {
        const { said } = await post(object);
        assert.ok(said.includes(at), `${at} in: ${said}`);
        assert.ok(said.includes(words), `${words} in: ${said}`);
        const objects = object["kind"] === "Cluster" ? [object] : [cluster(), object];
        const source = { file: "f.yaml", text: textOf(objects) };
        const { diagnostics } = readDesired([source], [localProvider()]);
        const told = diagnostics.map(diagnosticText).join("\n");
        assert.ok(told.includes(wordsOfCli), `${wordsOfCli} in: ${told}`);
      });
    }

    for (const { name, from, to, at, words } of refusedChanges) {
      it(`do not change while they live: ${name}`, async () => {
        await create(from);
        // A merge patch takes away only what it names.
        const spec = to["spec"] as Manifest;
        const { said } = await patch({ ...to, spec: withRemovals(from["spec"], spec) });
        assert.ok(said.includes(at) && said.includes(words), said);
        const recorded = { objects: [from] } as unknown as Target;
        const [violation] = checkImmutable(desiredWith(to), recorded);
        assert.ok(violation?.violation.hint?.includes(words), JSON.stringify(violation));
      });
    }

    it("are taken, with the defaults that the CLI fills in", async () => {
      for (const object of accepted) {
        const { said, object: stored } = await post(object);
        assert.ok(stored !== undefined, `${JSON.stringify(object)}: ${said}`);
        const ours = structuredClone(object);
        assert.deepEqual(validate(schemas[object["kind"] as Kind], ours), []);
        assert.deepEqual(stored["spec"], ours["spec"]);
      }
    });

    it("may be raised in version, scaled and labelled", async () => {
      await create(machine("cp", { controlPlane: "1.34.2" }));
      const raised = machine("cp", { controlPlane: "1.35.0", kubelet: "1.35.0" });
      assert.deepEqual((await patch(raised)).said, "");
      await create(machineDeployment("d", 1));
      assert.deepEqual((await patch(machineDeployment("d", 3, { size: "large" }))).said, "");
    });

    it("may be written in another version of their provider's API", async () => {
      await create(cluster());
      const apiVersion = "local.capstan.dev/v2";
      const next = changed(cluster(), ["spec", "providerSpec", "value", "apiVersion"], apiVersion);
      assert.deepEqual((await patch(next)).said, "");
    });

    for (const example of readdirSync(join(repository, "examples"))) {
      it(`examples/${example} is ${example === "broken" ? "refused" : "taken"}`, async () => {
        const named = namedToKubectl(join(repository, "examples", example));
        assert.ok(named.length > 0);
        for (const words of named) {
          // An overlay is of a namespace of its own name.
          const [how, folder = ""] = words;
          if (how === "-k") await place.server.kubectl("create", "namespace", basename(folder));
          const args = ["apply", "--dry-run=server", "--validate=strict", ...words];
          const { code, stderr } = await place.server.kubectl(...args);
          assert.equal(code, example === "broken" ? 1 : 0, stderr);
          if (code === 1) assert.match(stderr, /unknown field "spec\.versions\.kubelett"/);
        }
      });
    }

    it("show in columns what they do", async () => {
      await create(cluster());
      await create(machine("m"));
      const deployment = await create(machineDeployment("workers", 3));
      const clusterStatus: ClusterStatus = {
        phase: "Updating",
        message: "wave 2 of 3",
        revision: 4,
        transaction: { number: 5, direction: "forward" },
        machines: { summary: "2/3" },
      };
      // What runs, which is not always what is wanted.
      const machineStatus: MachineStatus = {
        phase: "Running",
        nodeRef: { name: "m-node" },
        versions: { kubelet: "1.33.1" },
      };
      const counts: MachineDeploymentStatus = {
        replicas: 3,
        readyReplicas: 2,
        availableReplicas: 1,
        updatedReplicas: 2,
        labelSelector: "set=workers",
        version: "1.33.1, 1.34.2",
      };
      await patchStatus(cluster(), clusterStatus);
      await patchStatus(machine("m"), machineStatus);
      await patchStatus(deployment, counts);
      const shown = async (...args: string[]) =>
        (await kubectl("get", ...args))
          .trimEnd()
          .split("\n")
          .map((line) => line.trim().replace(/ {2,}/g, "|"));
      const [clusters, prod] = await shown("cl");
      assert.equal(clusters, "NAME|PHASE|MACHINES|REVISION|TRANSACTION|MESSAGE|AGE");
      assert.match(prod ?? "", /^prod\|Updating\|2\/3\|4\|5\|wave 2 of 3\|\d+s$/);
      const [machines, m] = await shown("ma");
      assert.equal(machines, "NAME|CLUSTER|PHASE|NODE|PROVIDERID|VERSION|AGE");
      assert.match(m ?? "", /^m\|prod\|Running\|m-node\|1\.33\.1\|\d+s$/);
      const [, workers] = await shown("md");
      assert.match(workers ?? "", /^workers\|prod\|3\|3\|2\|1\|2\|1\.33\.1, 1\.34\.2\|\d+s$/);
      const [wide] = await shown("md", "-o", "wide");
      assert.match(wide ?? "", /\|SELECTOR\|PAUSED$/);
      // Categories are published a moment after their kinds are served.
      const all = await until("kubectl get capstan", async () => {
        const { code, stdout } = await place.server.kubectl("get", "capstan", "-o", "name");
        return code === 0 && stdout;
      });
      assert.deepEqual(all.trimEnd().split("\n").sort(), [
        "cluster.cluster.k8s.io/prod",
        "machine.cluster.k8s.io/m",
        "machinedeployment.cluster.k8s.io/workers",
      ]);
    });

    it("keep every field of a status, whatever it tells", async () => {
      await create(machine("cp", { controlPlane: "1.34.2" }));
      // A kubelet that is newer than its control plane is refused in a spec, and told in a status.
      const status: MachineStatus = {
        phase: "Failed",
        lastUpdated: "2026-05-04T10:11:12Z",
        versions: { kubelet: "v1.35.0+k3s1", controlPlane: "1.34.2" },
        errorReason: "CreateError",
        addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
        conditions: [{ type: "Ready", status: "False", reason: "KubeletNotReady" }],
        lastOperation: { type: "Create", state: "Failed", description: "no quota" },
        providerStatus: { anything: { deep: [1, 2] } },
      };
      await patchStatus(machine("cp"), status);
      const stored = await kubectl("get", "ma", "cp", "-o", "jsonpath={.status}");
      assert.deepEqual(JSON.parse(stored), status);
    });

    it("scale by kubectl, and tell an autoscaler their selector", async () => {
      for (const object of [machineDeployment("workers", 1), machineSet("single", 1)]) {
        const { matchLabels } = (object["spec"] as { selector: { matchLabels: object } }).selector;
        const labelSelector = selectorText({ matchLabels: { ...matchLabels } });
        const { name } = (await create(object))["metadata"] as { name: string };
        await patchStatus(object, { replicas: 1, labelSelector });
        const { plural } = namesOf(String(object["kind"]));
        await kubectl("scale", plural, name, "--replicas=4");
        const path = `/apis/cluster.k8s.io/v1alpha1/namespaces/default/${plural}/${name}/scale`;
        const scale = JSON.parse(await kubectl("get", "--raw", path)) as {
          spec: object;
          status: object;
        };
        assert.deepEqual(scale.spec, { replicas: 4 });
        assert.deepEqual(scale.status, { replicas: 1, selector: `set=${name}` });
      }
    });

    it("are explained by kubectl", async () => {
      // What is explained is published a moment after it is served.
      const told = await until("kubectl explain answers", async () => {
        const { code, stdout } = await place.server.kubectl("explain", "machine.spec.versions");
        return code === 0 && stdout.includes("kubelet") && stdout;
      });
      assert.match(told, /kubelet\s+<string>\n/);
      assert.match(told, /Versions to install\. A kubelet that is left out is chosen/);
    });
  });
});

function lineOf(name: string, outcome: string): RegExp {
  return new RegExp(`^${name} +${outcome}$`, "m");
}

/** As if it had been read from files, which a provider that is not there would forbid. */
function desiredWith(object: Manifest): Desired {
  const ofKind = (kind: Kind) => (object["kind"] === kind ? [object] : []);
  return {
    cluster: ofKind("Cluster")[0] ?? cluster(),
    machines: ofKind("Machine"),
    machineSets: ofKind("MachineSet"),
    machineDeployments: ofKind("MachineDeployment"),
  } as unknown as Desired;
}

/** What turns one value into the other as a merge patch: null for what is to go. */
function withRemovals(from: unknown, to: unknown): unknown {
  if (!isObject(from) || !isObject(to)) return to;
  const gone = Object.keys(from).filter((key) => !(key in to));
  return {
    ...Object.fromEntries(gone.map((key) => [key, null])),
    ...Object.fromEntries(
      Object.entries(to).map(([key, value]) => [key, withRemovals(from[key], value)]),
    ),
  };
}

function isObject(value: unknown): value is Manifest {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
