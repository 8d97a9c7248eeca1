import assert from "node:assert/strict";
import { awsProvider } from "../../providers/aws/provider.js";
import { awsApiVersion } from "../../providers/aws/specs/cluster-spec.js";
import type { Json, JsonObject } from "../../src/api/json.js";
import { intentOf } from "../../src/kube/live-intent.js";
import type { LiveCluster, LiveObject } from "../../src/kube/live-object.js";
import { controlledBy, deleted, live, liveCluster } from "../support/live-objects.js";
import {
  cluster,
  localProvider,
  machine,
  machineDeployment,
  machineSet,
} from "../support/manifests.js";
import { noClients } from "../providers/aws/no-clients.js";

const providers = [localProvider()];
const paused = { annotations: { "capstan.dev/paused": "while we move" } };
const derived = { ownerReferences: controlledBy("MachineSet", "set") };

function digest(cluster: LiveCluster): string {
  return intentOf(cluster, providers).digest;
}

describe("intentOf", () => {
  for (const { name, given, want } of [
    {
      name: "is absent without a Cluster",
      given: { key: "default/prod", members: [live(machine("a"))], classes: [], drainRules: [] },
      want: "absent",
    },
    { name: "is what is wanted", given: liveCluster([live(machine("a"))]), want: "want" },
    {
      name: "is to remove what is being deleted",
      given: liveCluster([], { metadata: deleted }),
      want: "remove",
    },
    {
      name: "is to remove it even when it is wrong",
      given: liveCluster([], { metadata: deleted, spec: { nonsense: 1 } }),
      want: "remove",
    },
    {
      name: "is wrong when an object is",
      given: liveCluster([live(machine("a"), { spec: {} })]),
      want: "invalid",
    },
    {
      name: "is to do nothing while it is paused",
      given: liveCluster([], { metadata: paused }),
      want: "paused",
    },
    {
      name: "is to do nothing about a deletion, either, while it is paused",
      given: liveCluster([], { metadata: { ...paused, ...deleted } }),
      want: "paused",
    },
  ]) {
    it(name, () => assert.equal(intentOf(given, providers).kind, want));
  }

  it("is of what users wrote and keep", () => {
    const intent = intentOf(
      liveCluster([
        live(machine("kept")),
        live(machine("going"), { metadata: deleted }),
        live(machine("derived"), { metadata: derived }),
        live(machine("discarded"), { metadata: { ...derived, ...deleted } }),
        live(machineSet("set", 1)),
      ]),
      providers,
    );
    assert.ok(intent.kind === "want");
    assert.deepEqual(
      intent.desired.machines.map(({ metadata }) => metadata.name),
      ["kept"],
    );
    assert.deepEqual(intent.discarded, ["discarded"]);
  });

  it("is wrong when a class is that its objects name, and right when nobody names it", () => {
    const big = { name: "big", namespace: "default", uid: "u", resourceVersion: "1" };
    const wrong: LiveObject = {
      apiVersion: "cluster.k8s.io/v1alpha1",
      kind: "MachineClass",
      metadata: big,
      providerSpec: { apiVersion: "local.capstan.dev/v1alpha1", kind: "Nothing" },
    };
    const spec = { providerSpec: { valueFrom: { machineClass: { name: "big" } } } };
    const kindOf = (member: LiveObject) =>
      intentOf({ ...liveCluster([member]), classes: [wrong] }, providers).kind;
    assert.equal(kindOf(live(machine("a"))), "want");
    assert.equal(kindOf(live(machine("a"), { spec })), "invalid");
  });

  it("reads no class that its objects do not name, of whatever provider and however many", () => {
    const classOf = (name: string, providerSpec: object): LiveObject =>
      ({
        apiVersion: "cluster.k8s.io/v1alpha1",
        kind: "MachineClass",
        metadata: { name, namespace: "default", uid: name, resourceVersion: "1" },
        providerSpec,
      }) as LiveObject;
    const good = classOf("good", {
      apiVersion: "local.capstan.dev/v1alpha1",
      kind: "LocalMachineProviderSpec",
      size: "large",
    });
    const foreign = classOf("foreign", { apiVersion: "elsewhere.example.com/v1", kind: "Host" });
    const unread = Array.from({ length: 1_000 }, (_, number) =>
      classOf(`unread-${number}`, {
        get kind(): string {
          return assert.fail("it was read");
        },
      }),
    );
    const naming = (name: string) => {
      const spec = { providerSpec: { valueFrom: { machineClass: { name } } } };
      const members = [live(machine("a"), { spec })];
      return intentOf({ ...liveCluster(members), classes: [foreign, ...unread, good] }, providers);
    };
    const intent = naming("good");
    assert.ok(intent.kind === "want", JSON.stringify(intent));
    const [made] = intent.desired.machines;
    assert.match(JSON.stringify(made?.spec.providerSpec), /"size":"large"/);
    assert.equal(naming("foreign").kind, "invalid");
  });

  it("tells who is marked to go first, of those that sets made", () => {
    const marks = { "cluster.k8s.io/delete-machine": "yes", other: "x" };
    const members = (annotations: Record<string, string>) => [
      live(machineSet("set", 1)),
      live(machine("derived"), { metadata: { ...derived, annotations } }),
      live(machine("own"), { metadata: { annotations } }),
    ];
    const intent = intentOf(liveCluster(members(marks)), providers);
    assert.deepEqual(intent.kind === "want" && intent.deleteMarks, {
      derived: { "cluster.k8s.io/delete-machine": "yes" },
    });
  });

  it("tells how Machines say that their deletion goes, and is another one once a hook is gone", () => {
    const hook = { "pre-drain.delete.hook.machine.cluster.x-k8s.io/a": "" };
    const intentWith = (annotations: Record<string, string>) =>
      intentOf(
        liveCluster([
          live(machineSet("set", 1)),
          live(machine("derived"), { metadata: { ...derived, annotations } }),
          live(machine("going"), { metadata: { ...deleted, annotations } }),
        ]),
        providers,
      );
    const held = intentWith({ ...hook, other: "x" });
    assert.deepEqual(held.kind === "want" && held.liveAnnotations, { derived: hook, going: hook });
    assert.notEqual(intentWith({ other: "x" }).digest, held.digest);
    assert.equal(intentWith({ other: "x" }).digest, intentWith({}).digest);
  });

  describe("of sets and Machines that overlap", () => {
    const db = live(machineSet("db", 1));
    const inDb = { metadata: { labels: { ...db.metadata.labels, set: "db" } } };
    const told = (members: readonly LiveObject[]) => {
      const intent = intentOf(liveCluster(members), providers);
      return intent.kind !== "invalid"
        ? intent.kind
        : intent.diagnostics.map(({ subject, summary }) => `${subject}: ${summary}`);
    };

    it("is wrong where users wrote them", () => {
      const other = live({ ...machineSet("web", 1), spec: machineSet("db", 1)["spec"] });
      assert.deepEqual(told([db, other, live(machine("db-0"), inDb)]), [
        "Machine default/db-0: MachineSet default/db selects this Machine, which it did not make",
        "MachineSet default/web: selects the Machines of MachineSet default/db too",
      ]);
    });

    it("is right where a set made them", () => {
      const made = {
        metadata: { ...inDb.metadata, ownerReferences: controlledBy("MachineSet", "db") },
      };
      assert.equal(told([db, live(machine("db-0"), made)]), "want");
    });
  });

  describe("stays the same", () => {
    const objects = [machine("a"), machineSet("set", 1), machineDeployment("web", 1)];
    const before = digest(liveCluster(objects.map((one) => live(one))));
    for (const { name, about } of [
      { name: "in another order", about: undefined },
      { name: "with another status", about: { status: { phase: "Running" } } },
      { name: "with finalizers", about: { metadata: { finalizers: ["machine.cluster.k8s.io"] } } },
      {
        name: "with versions of its own",
        about: { metadata: { resourceVersion: "99", generation: 4 } },
      },
      {
        name: "with the marks of kubectl and ours",
        about: {
          metadata: {
            annotations: {
              "kubectl.kubernetes.io/last-applied-configuration": "{}",
              "capstan.dev/cluster-uid": "uid-1",
              "capstan.dev/bound-to": "uid-2",
              "machinedeployment.clusters.k8s.io/revision": "3",
              "machinedeployment.clusters.k8s.io/revision-history": "1",
            },
          },
        },
      },
    ]) {
      it(name, () => {
        const members = objects.map((one) => live(one, about)).reverse();
        assert.equal(digest(liveCluster(members, about)), before);
      });
    }
  });

  describe("is another one", () => {
    const before = digest(liveCluster([live(machine("a"))]));
    const cases: { name: string; given: LiveCluster }[] = [
      { name: "with another spec", given: liveCluster([live(machine("a", { size: "large" }))]) },
      { name: "with another object", given: liveCluster([live(machine("b"))]) },
      {
        name: "with a policy",
        given: liveCluster([live(machine("a"))], {
          metadata: { annotations: { "capstan.dev/update-policy": "inPlace" } },
        }),
      },
      {
        name: "when somebody deletes a derived Machine",
        given: liveCluster([
          live(machine("a")),
          live(machine("d"), { metadata: { ...derived, ...deleted } }),
        ]),
      },
    ];
    for (const { name, given } of cases) {
      it(name, () => assert.notEqual(digest(given), before));
    }
  });

  it("leaves the objects as they are", () => {
    const given: LiveObject = Object.freeze(live(machine("a")));
    const text = JSON.stringify(given);
    intentOf(liveCluster([given]), providers);
    assert.equal(JSON.stringify(given), text);
  });

  describe("of a UID that a lost state would not know", () => {
    for (const { name, boundTo, want } of [
      { name: "remembers its own", boundTo: "uid-of-prod", want: ["uid-1", "uid-1"] },
      { name: "takes that of a copy for nothing", boundTo: "uid-elsewhere", want: [] },
      { name: "adopts nothing by one that is not bound", want: [undefined, "uid-1"] },
    ]) {
      it(name, () => {
        const bound = boundTo === undefined ? {} : { "capstan.dev/bound-to": boundTo };
        const metadata = { annotations: { "capstan.dev/cluster-uid": "uid-1", ...bound } };
        const wanted = intentOf(liveCluster([], { metadata }), providers);
        const going = intentOf(
          liveCluster([], { metadata: { ...metadata, ...deleted } }),
          providers,
        );
        assert.equal(wanted.kind === "want" && wanted.clusterUid, want[0]);
        assert.equal(going.kind === "remove" && going.clusterUid, want[1]);
      });
    }
  });

  describe("with identities", () => {
    const roleOf = (allowedNamespaces: Json, more: JsonObject = {}) => {
      const roleARN = "arn:aws:iam::123456789012:role/team";
      const kind = "AWSClusterRoleIdentity";
      const spec = { roleARN, allowedNamespaces, ...more };
      return {
        name: `${kind} team`,
        value: { apiVersion: awsApiVersion, kind, metadata: { name: "team" }, spec },
      };
    };
    const given = (identity: ReturnType<typeof roleOf>, spec: JsonObject = naming) => {
      const region = "eu-north-1";
      const kind = "AWSClusterProviderSpec";
      const value = { apiVersion: awsApiVersion, kind, region, ...spec };
      const { spec: own = {} } = live(cluster());
      const about = { spec: { ...own, providerSpec: { value } } };
      const labelsOf = () => ({ stage: "prod" });
      const source = { objects: () => [structuredClone(identity)], labelsOf };
      return intentOf(liveCluster([], about), [awsProvider(noClients)], source);
    };
    const naming = { identityRef: { kind: "AWSClusterRoleIdentity", name: "team" } };

    it("names the Cluster and the member where its namespace may not use one", () => {
      const intent = given(roleOf({ list: ["other"] }));
      assert.ok(intent.kind === "invalid");
      const [{ code, position, path } = assert.fail()] = intent.diagnostics;
      assert.deepEqual([code, position.file], ["IDENTITY_REFUSED", "Cluster default/prod"]);
      assert.equal(path, "spec.providerSpec.value.identityRef.name");
    });

    it("keeps nothing for a Cluster whose namespace may not use one any more, however wrong the Cluster is", () => {
      const allowed = given(roleOf({ selector: { matchLabels: { stage: "prod" } } }));
      assert.ok(allowed.kind === "want");
      for (const spec of [naming, { ...naming, region: 7 }]) {
        const intent = given(roleOf({ list: ["other"] }), spec);
        assert.ok(intent.kind === "invalid");
        assert.equal(intent.keptGoal(allowed.desired), undefined);
      }
    });

    it("is another goal once the role is another one, and its namespace may use it", () => {
      const selector = { matchLabels: { stage: "prod" } };
      const [before, after] = ["one", "two"].map((sessionName) =>
        given(roleOf({ selector }, { sessionName })),
      );
      assert.deepEqual([before?.kind, after?.kind], ["want", "want"]);
      assert.notEqual(before?.digest, after?.digest);
    });

    it("is stopped by one that is wrong only where that is named", () => {
      const wrong = roleOf({}, { durationSeconds: 1 });
      const intent = given(wrong);
      assert.ok(intent.kind === "invalid");
      assert.deepEqual(
        intent.diagnostics.map(({ code, position }) => [code, position.file]),
        [["IDENTITY_REFUSED", "Cluster default/prod"]],
      );
      assert.equal(given(wrong, {}).kind, "want");
    });
  });
});
