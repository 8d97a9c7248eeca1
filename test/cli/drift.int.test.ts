import assert from "node:assert/strict";
import type { JsonObject } from "../../src/api/json.js";
import { driftAnnotations } from "../../src/api/drift-policy.js";
import type { ClusterDriftDocument } from "../../src/report/drift-schema.js";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { demoStack, type ScenarioCluster } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";

const { policy, maxInFlight } = driftAnnotations;
const machines: ScenarioCluster["machines"] = {
  "cp-0": { controlPlane: true },
  a: {},
  b: {},
  c: {},
};

describe("drift with a real engine", () => {
  let sandbox: Sandbox;

  copyForEachTest({ machines }, (copy) => {
    sandbox = copy;
  });

  type Annotations = Record<string, string>;
  /** The manifests with annotations of the Cluster and of Machines, and no others. */
  const annotate = (annotations: Annotations, of: Record<string, Annotations> = {}) => {
    const entries = Object.entries(machines).map(([name, shape]) => {
      const own = of[name];
      return [name, own === undefined ? shape : { ...shape, annotations: own }] as const;
    });
    sandbox.write({ annotations, machines: Object.fromEntries(entries) });
  };
  const drift = async (code: number): Promise<ClusterDriftDocument> => {
    const { stdout } = await sandbox.capstan(code, "drift", "-f", sandbox.manifests, "--json");
    return JSON.parse(stdout) as ClusterDriftDocument;
  };
  /** "missing a correct create". */
  const lines = ({ items }: ClusterDriftDocument): string[] =>
    items.map(({ class: found, machine, kind, back, decision, how }) =>
      [found, machine ?? kind, back, decision, how].filter(Boolean).join(" "),
    );
  const kill = (name: string) => sandbox.cloud.kill(name);
  const set = (name: string, fields: JsonObject) => sandbox.cloud.set(name, fields);

  it("none: exit 0, and the cloud was only read", async () => {
    const end = sandbox.ledgerEnd();
    const { stdout } = await sandbox.capstan(0, "drift");
    assert.match(
      stdout,
      /^Cluster default\/demo .*\n\nNo drift: \d+ resources are as they are rec/,
    );
    assert.deepEqual(sandbox.mutations(end), []);
  });

  it("missing, changed in place and by a new host: told, and corrected by up until there is none", async () => {
    annotate({ [maxInFlight]: "100%" });
    await kill("a");
    await set("b", { tags: { by: "hand" } });
    await set("c", { size: "large" });
    const found = await drift(2);
    assert.deepEqual(lines(found), [
      "missing a correct create",
      "changed b inPlace correct update",
      "changed c replace correct replace",
    ]);
    assert.deepEqual(found.items[2]?.fields, [{ path: "size", recorded: "small", seen: "large" }]);
    await sandbox.up();
    assert.deepEqual([(await drift(0)).items, (await sandbox.plan(0)).code], [[], 0]);
    await sandbox.assertSound(demoStack);
  });

  it("under each policy: report and ignore are no drift to correct, ignore is none to tell", async () => {
    annotate(
      {},
      { a: { [policy]: "report" }, b: { [policy]: "ignore" }, c: { [policy]: "replace" } },
    );
    await sandbox.up();
    for (const name of ["a", "b", "c"]) await set(name, { tags: { by: "hand" } });
    const found = await drift(2);
    assert.deepEqual(lines(found), [
      "changed a inPlace report",
      "changed b inPlace ignore",
      "changed c inPlace replace",
    ]);
    const { stdout } = await sandbox.plan(2);
    assert.match(stdout, /^1 drifted, ignored by policy: LocalHost\/b-/m);
    await sandbox.up();
    assert.deepEqual(lines(await drift(0)), ["changed b inPlace ignore"]);
    const tagsOf = (name: string) => sandbox.hostOf(`${name}-`).spec["tags"];
    assert.deepEqual([tagsOf("a"), tagsOf("b")], [{}, { by: "hand" }]);
    const described = await sandbox.capstan(0, "describe", "machine/b");
    assert.match(described.stdout.replace(/\s+/g, " "), /drifted: tags .*; ignored by policy/);
    assert.equal((await sandbox.plan(0)).code, 0, "what is ignored is no change that is pending");
  });

  it("a cloud that does not answer: nothing is known, exit 1", async () => {
    await sandbox.cloud.fault("list", "fail", { times: 100 });
    const found = await drift(1);
    assert.equal(found.freeze?.cause, "unreadable");
    assert.equal(found.counts.unknown, found.recorded);
  });

  it("several clusters as one document, in Markdown or JSON; two formats are refused", async () => {
    await kill("a");
    const markdown = await sandbox.capstan(2, "drift", demoStack, "--format", "markdown");
    assert.match(markdown.stdout, /^<!-- capstan-drift -->\n\n## Capstan drift: 1 missing\n/);
    const { stdout } = await sandbox.capstan(2, "drift", "--format", "json");
    assert.equal((JSON.parse(stdout) as { kind: string }).kind, "DriftReport");
    await sandbox.capstan(64, "drift", "--format", "json", "--json");
    await sandbox.capstan(1, "drift", "default.nobody");
    sandbox.write({ name: "new", machines });
    const { stderr } = await sandbox.capstan(0, "drift", "-f", sandbox.manifests);
    assert.match(stderr, /^default\.new is not made yet; capstan .*up makes it$/m);
  });
});
