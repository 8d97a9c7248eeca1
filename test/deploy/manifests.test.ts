import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { packageVersion } from "../../src/cli/package.js";
import { makeProgram } from "../../src/cli/verbs/program.js";
import { type MetricDefinition, metricTable } from "../../src/controller/metric-table.js";
import { leaseName } from "../../src/kube/lease-store.js";
import { deploymentSpec, manifestFolder, manifestsIn } from "./manifests.js";

interface Kustomization {
  readonly resources: readonly string[];
  readonly images: readonly { readonly name: string; readonly newTag: string }[];
}

const kustomization = parse(
  readFileSync(join(manifestFolder, "kustomization.yaml"), "utf8"),
) as Kustomization;

describe("deploy/kubernetes", () => {
  const { template, replicas } = deploymentSpec();
  const [container] = template.spec.containers;
  assert.ok(container !== undefined);

  it("lists every manifest of the folder", () => {
    const files = readdirSync(manifestFolder).filter(
      (name) => name.endsWith(".yaml") && name !== "kustomization.yaml",
    );
    assert.deepEqual([...kustomization.resources].sort(), files.sort());
  });

  it("runs this release", () => {
    assert.deepEqual(kustomization.images, [{ name: "capstan", newTag: packageVersion() }]);
    for (const { image } of [...template.spec.containers, ...template.spec.initContainers]) {
      assert.equal(image, "capstan");
    }
  });

  it("calls capstan watch with options that it has", () => {
    const [verb, ...args] = container.args;
    assert.equal(verb, "watch");
    assert.ok(args.includes("--json"), "programs read the log of a controller");
    const program = makeProgram();
    const watch = program.commands.find((command) => command.name() === "watch");
    const known = [...program.options, ...(watch?.options ?? [])].map(({ long }) => long);
    for (const arg of args) {
      const [option = ""] = arg.split("=");
      assert.ok(known.includes(option), `${option} is none of ${known.join(", ")}`);
    }
  });

  it("may change the Lease that the controller uses, and no other", () => {
    const rules = manifestsIn("role.yaml").flatMap(({ rules = [] }) => rules);
    const named = rules.filter(({ resourceNames }) => resourceNames !== undefined);
    assert.deepEqual(
      named.map(({ resourceNames }) => resourceNames),
      [[leaseName]],
    );
  });

  it("grants nothing by wildcard", () => {
    const rules = manifestsIn().flatMap(({ rules = [] }) => rules);
    assert.ok(rules.length > 5);
    for (const { apiGroups, resources, verbs } of rules) {
      assert.ok(![...apiGroups, ...resources, ...verbs].includes("*"));
    }
  });

  it("keeps a replica through a drain, and spares time for a graceful end", () => {
    const [budget] = manifestsIn("disruption-budget.yaml");
    const { minAvailable } = budget?.spec as { minAvailable: number };
    assert.ok(minAvailable >= 1 && minAvailable < replicas);
    assert.ok(template.spec.terminationGracePeriodSeconds >= 60);
  });

  it("selects its pods wherever it means them", () => {
    const { labels } = template.metadata;
    interface Selecting {
      readonly selector?: { readonly matchLabels?: object } & object;
      readonly podSelector?: { readonly matchLabels: object };
    }
    for (const file of ["service", "disruption-budget", "network-policy", "deployment"]) {
      const spec = manifestsIn(`${file}.yaml`)[0]?.spec as Selecting;
      const selected = spec.podSelector?.matchLabels ?? spec.selector?.matchLabels ?? spec.selector;
      assert.deepEqual(selected, labels, file);
    }
    const [monitor] = manifestsIn("monitoring", "service-monitor.yaml");
    const { selector, endpoints } = monitor?.spec as {
      selector: { matchLabels: object };
      endpoints: { port: string }[];
    };
    assert.deepEqual(selector.matchLabels, labels);
    assert.deepEqual(
      endpoints.map(({ port }) => port),
      (container.ports ?? []).map(({ name }) => name),
    );
  });

  it("alerts by metrics that there are, with labels that they have", () => {
    const [alerts] = manifestsIn("monitoring", "alerts.yaml");
    const { groups } = alerts?.spec as {
      groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[];
    };
    const rules = groups.flatMap((group) => group.rules);
    assert.ok(rules.some(({ expr }) => expr.includes('outcome="unanswered"')));
    const metrics: MetricDefinition[] = Object.values(metricTable);
    for (const { alert, expr, annotations } of rules) {
      const named = [...expr.matchAll(/(capstan_\w+?)(?:_bucket)?(?:\{(\w+)=|\b)/g)];
      assert.ok(named.length > 0, alert);
      const labels = named.flatMap(([, name, label]) => {
        const metric = metrics.find((one) => one.name === name);
        assert.ok(metric !== undefined, `${alert}: ${name}`);
        assert.ok(label === undefined || metric.labels.includes(label), `${alert}: ${label}`);
        return metric.labels;
      });
      const shown = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(
        ([, label = ""]) => label,
      );
      assert.deepEqual(
        shown.filter((label) => !labels.includes(label)),
        [],
        alert,
      );
    }
  });

  it("gives secrets as files: none stands in the environment", () => {
    for (const { name, value, ...from } of container.env ?? []) {
      assert.ok(!JSON.stringify(from).includes("secretKeyRef"), name);
      if (name.includes("PASS")) assert.match(value ?? "", /^\/run\/capstan\//, name);
    }
  });

  it("writes into volumes only", () => {
    const mounts = new Map(container.volumeMounts.map(({ name, mountPath }) => [mountPath, name]));
    assert.equal(container.securityContext["readOnlyRootFilesystem"], true);
    const state = container.args
      .find((arg) => arg.startsWith("--state="))
      ?.slice("--state=".length);
    assert.ok(mounts.has(state ?? ""), state);
    for (const name of ["HOME", "PULUMI_HOME", "CAPSTAN_CACHE"]) {
      const value = container.env?.find((variable) => variable.name === name)?.value ?? "";
      assert.ok(
        [...mounts.keys()].some((path) => value.startsWith(path)),
        name,
      );
    }
    const volumes = template.spec.volumes.map(({ name }) => name);
    for (const name of mounts.values()) assert.ok(volumes.includes(name), name);
  });
});
