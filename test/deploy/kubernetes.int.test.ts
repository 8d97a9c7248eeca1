import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AuthorizationV1Api } from "@kubernetes/client-node";
import { eventsInApiServer } from "../../src/kube/event-store.js";
import type { EventRequest } from "../../src/kube/event-names.js";
import { leaseInApiServer, leaseName } from "../../src/kube/lease-store.js";
import { ApiServer } from "../support/api-server.js";
import type { ApiUser } from "../support/api-user.js";
import { deploymentSpec, manifestFolder, manifestsIn, root } from "./manifests.js";

const namespace = "capstan-system";
const account = `system:serviceaccount:${namespace}:capstan`;
const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

interface Thing {
  readonly group?: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

const reads = ["get", "list", "watch"];
const ours = (resource: string, subresource?: string): Thing => ({
  group: "cluster.k8s.io",
  resource,
  namespace: "default",
  ...(subresource !== undefined && { subresource }),
});
const lease = (where: string, name?: string): Thing => ({
  group: "coordination.k8s.io",
  resource: "leases",
  namespace: where,
  ...(name !== undefined && { name }),
});

/** Everything that the controller may do. What is not here it must not be able to do. */
const granted: readonly (readonly [Thing, readonly string[]])[] = [
  [ours("clusters"), [...reads, "update", "patch"]],
  [ours("machinedeployments"), [...reads, "update", "patch", "delete"]],
  [ours("machinesets"), [...reads, "create", "update", "patch", "delete"]],
  [ours("machines"), [...reads, "create", "update", "patch", "delete"]],
  [ours("machineclasses"), [...reads, "update", "patch"]],
  [ours("clusters", "status"), ["get", "update", "patch"]],
  [ours("machinedeployments", "status"), ["get", "update", "patch"]],
  [ours("machinesets", "status"), ["get", "update", "patch"]],
  [ours("machines", "status"), ["get", "update", "patch"]],
  [ours("clusters", "finalizers"), ["update"]],
  [ours("machinedeployments", "finalizers"), ["update"]],
  [ours("machinesets", "finalizers"), ["update"]],
  [ours("machines", "finalizers"), ["update"]],
  [
    { group: "events.k8s.io", resource: "events", namespace: "default" },
    ["get", "create", "patch"],
  ],
  [{ resource: "secrets", namespace: "default" }, [...reads, "create", "patch"]],
  // Cluster identities name the namespaces that may use them by labels, which only their list tells.
  [{ resource: "namespaces" }, reads],
  [{ group: "awsprovider.k8s.io", resource: "awsclustercontrolleridentities" }, reads],
  [{ group: "awsprovider.k8s.io", resource: "awsclusterroleidentities" }, reads],
  [lease(namespace), ["create"]],
  [lease(namespace, leaseName), ["get", "create", "patch"]],
];

const nothing: readonly Thing[] = [
  ours("machineclasses", "status"),
  ours("machinedeployments", "scale"),
  ...["configmaps", "pods", "serviceaccounts", "persistentvolumes", "events"].map((resource) => ({
    resource,
    namespace: "default",
  })),
  { resource: "secrets", subresource: "status", namespace },
  { resource: "pods", subresource: "exec", namespace },
  { resource: "serviceaccounts", subresource: "token", namespace },
  { resource: "nodes" },
  { resource: "namespaces", subresource: "status" },
  { resource: "namespaces", subresource: "finalize" },
  { group: "awsprovider.k8s.io", resource: "awsclusterstaticidentities" },
  lease(namespace, "another"),
  lease("kube-system"),
  lease("default", leaseName),
  { group: "apps", resource: "deployments", namespace },
  { group: "apiextensions.k8s.io", resource: "customresourcedefinitions" },
  { group: "rbac.authorization.k8s.io", resource: "clusterroles" },
  { group: "rbac.authorization.k8s.io", resource: "rolebindings", namespace },
  { group: "admissionregistration.k8s.io", resource: "mutatingwebhookconfigurations" },
];

function nameOf({ group, resource, subresource, namespace: where, name }: Thing): string {
  const kind = [resource, subresource].filter((part) => part !== undefined).join("/");
  return [`${kind}${group === undefined ? "" : `.${group}`}`, name, where && `in ${where}`]
    .filter((part) => part !== undefined)
    .join(" ");
}

describe("deploy/kubernetes in an API server", () => {
  let server: ApiServer;

  before(async () => {
    server = await ApiServer.start();
    const { code, stderr } = await server.kubectl(
      "apply",
      "-f",
      join(manifestFolder, "namespace.yaml"),
    );
    assert.equal(code, 0, stderr);
  });
  after(() => server.stop());

  async function dryRun(file: string): Promise<string> {
    const strict = ["--dry-run=server", "--validate=strict"];
    const { code, stdout, stderr } = await server.kubectl("create", "-f", file, ...strict);
    return code === 0 ? stdout : `refused: ${stderr}`;
  }

  function fileOf(object: object): string {
    const file = join(server.folder, "tried.json");
    writeFileSync(file, JSON.stringify(object));
    return file;
  }

  /** A pod as the Deployment would make it. */
  function pod(change: object = {}): object {
    const { metadata, spec } = deploymentSpec().template;
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { ...metadata, name: "tried", namespace },
      spec: { ...spec, ...change },
    };
  }

  it("takes every manifest, by the strictest validation", async () => {
    for (const manifest of manifestsIn()) {
      if (manifest.kind === "Namespace") continue;
      const answer = await dryRun(fileOf(manifest));
      assert.match(answer, /created \(server dry run\)/, `${manifest.kind}: ${answer}`);
      assert.ok(!answer.includes("Warning"), answer);
    }
  });

  it("would refuse a field that does not exist", async () => {
    const [budget] = manifestsIn("disruption-budget.yaml");
    const misspelled = { ...budget, spec: { ...(budget?.spec as object), minAvailible: 1 } };
    assert.match(await dryRun(fileOf(misspelled)), /refused: .*unknown field "spec.minAvailible"/);
  });

  it("can be changed by an overlay as docs/operations.md shows it, and monitored", async () => {
    const page = readFileSync(join(root, "docs", "operations.md"), "utf8");
    const [, shown = ""] = /# my-overlay\/kustomization\.yaml\n((?: {4}.*\n)+)/.exec(page) ?? [];
    const overlay = `${shown.replaceAll(/^ {4}/gm, "")}components: [../deploy/kubernetes/monitoring]\n`;
    mkdirSync(join(server.folder, "my-overlay"));
    cpSync(join(root, "deploy"), join(server.folder, "deploy"), { recursive: true });
    writeFileSync(join(server.folder, "my-overlay", "kustomization.yaml"), overlay);
    const { code, stdout, stderr } = await server.kubectl(
      "kustomize",
      join(server.folder, "my-overlay"),
    );
    assert.equal(code, 0, stderr);
    assert.match(stdout, /image: registry\.example\.com\/capstan:0\.1\.0/);
    assert.match(stdout, /backend: postgres:\/\/capstan@db\.example\.com/);
    assert.match(stdout, /kind: ServiceMonitor/);
    assert.match(stdout, /kind: PrometheusRule/);
  });

  it("takes all of it together from kustomize", async () => {
    const { code, stdout, stderr } = await server.kubectl(
      "apply",
      "-k",
      manifestFolder,
      "--dry-run=server",
      "--validate=strict",
    );
    assert.equal(code, 0, stderr);
    assert.match(stdout, /deployment\.apps\/capstan created/);
    const { stdout: text } = await server.kubectl("kustomize", manifestFolder);
    assert.match(text, /image: capstan:\d+\.\d+\.\d+/);
    assert.ok(!text.includes("ServiceMonitor"));
  });

  it("runs pods that a restricted namespace lets in", async () => {
    assert.match(await dryRun(fileOf(pod())), /pod\/tried created/);
    const [container] = deploymentSpec().template.spec.containers;
    const loose = pod({ containers: [{ ...container, securityContext: {} }] });
    assert.match(await dryRun(fileOf(loose)), /refused: .*violates PodSecurity "restricted/);
  });

  describe("the service account", () => {
    let robot: ApiUser;

    before(async () => {
      for (const file of ["service-account.yaml", "cluster-role.yaml", "role.yaml"]) {
        const { code, stderr } = await server.kubectl("apply", "-f", join(manifestFolder, file));
        assert.equal(code, 0, stderr);
      }
      const { stdout } = await server.kubectl("create", "token", "capstan", "-n", namespace);
      robot = server.userWith(stdout.trim(), "capstan");
    });

    async function verbsAllowed(thing: Thing): Promise<string[]> {
      const api = server.config.makeApiClient(AuthorizationV1Api);
      const asked = verbs.map(async (verb) => {
        const spec = {
          user: account,
          groups: ["system:serviceaccounts", "system:authenticated"],
          resourceAttributes: { ...thing, verb },
        };
        const body = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
        const { status } = await api.createSubjectAccessReview({ body });
        return status?.allowed === true ? [verb] : [];
      });
      return (await Promise.all(asked)).flat();
    }

    it("may do what the controller does, and not one thing more", async () => {
      for (const [thing, wanted] of granted) {
        assert.deepEqual((await verbsAllowed(thing)).sort(), [...wanted].sort(), nameOf(thing));
      }
    });

    it("may do nothing with anything else", async () => {
      for (const thing of nothing) {
        const allowed = await verbsAllowed(thing);
        // Creating a Lease cannot be limited to one of a name.
        const expected =
          thing.resource === "leases" && thing.namespace === namespace ? ["create"] : [];
        assert.deepEqual(allowed, expected, nameOf(thing));
      }
    });

    it("is told the same by kubectl", async () => {
      const can = async (...args: string[]) =>
        (await server.kubectl("auth", "can-i", ...args, `--as=${account}`)).stdout.trim();
      assert.equal(await can("get", "namespaces/kube-system"), "yes");
      assert.equal(await can("list", "secrets", "--all-namespaces"), "yes");
      assert.equal(await can("delete", "secrets", "--all-namespaces"), "no");
      assert.equal(await can("list", "configmaps", "--all-namespaces"), "no");
      assert.equal(await can("delete", "pods", "-n", namespace), "no");
      assert.equal(await can("get", "nodes"), "no");
    });

    it("leads and reports by its own token", async () => {
      const { signal } = new AbortController();
      const store = leaseInApiServer(robot.config, { namespace, name: leaseName });
      const shape = { holder: "a", durationMs: 15_000, transitions: 0, renewedAtMs: Date.now() };
      const made = await store.create(shape, signal);
      assert.equal((await store.read(signal))?.version, made?.version);
      const later = { ...shape, renewedAtMs: shape.renewedAtMs + 1_000 };
      assert.ok((await store.replace(made?.version ?? "", later, signal)) !== undefined);
      const events = eventsInApiServer(robot.config, "capstan-0");
      const regarding = {
        apiVersion: "cluster.k8s.io/v1alpha1",
        kind: "Cluster",
        namespace: "default",
        name: "prod",
        uid: "1",
      };
      const event: EventRequest = {
        regarding,
        type: "Normal",
        reason: "Created",
        action: "Create",
        note: "made",
      };
      assert.equal(await events.create("prod.1", event, Date.now()), true);
      assert.equal((await events.find("prod.1", regarding))?.count, 1);
      const series = { count: 2, lastObservedMs: Date.now() };
      assert.equal(await events.patchSeries("prod.1", regarding, series), true);
      const { stderr } = await robot.kubectl("get", "pods", "-n", namespace);
      assert.match(stderr, /cannot list resource "pods"/);
    });
  });
});
