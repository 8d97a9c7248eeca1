import assert from "node:assert/strict";
import type { DiagnosticCode } from "../../src/api/diagnostic-codes.js";
import { diagnosticText } from "../../src/manifest/diagnostic.js";
import { cluster, read, set } from "./texts.js";

const drainRule = `apiVersion: cluster.k8s.io/v1alpha1
kind: MachineDrainRule
metadata: { name: r }
spec:
  drain: { behavior: Drain, order: 5 }
`;
const healthCheck = `apiVersion: cluster.k8s.io/v1alpha1
kind: MachineHealthCheck
metadata: { name: h }
spec:
  clusterName: prod
  selector: { matchLabels: { set: s } }
  checks:
    unhealthyNodeConditions: [{ type: Ready, status: Unknown, timeoutSeconds: 300 }]
  remediation: { triggerIf: { unhealthyInRange: "[1-3]" } }
`;
const formerHealthCheck = `apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineHealthCheck
metadata: { name: f }
spec:
  clusterName: prod
  selector: { matchLabels: { set: s } }
  maxUnhealthy: 40%
  unhealthyRange: "[1-3]"
  nodeStartupTimeout: 10m
  unhealthyConditions: [{ type: Ready, status: Unknown, timeout: 5m }]
`;

function old(line: number, was: string, is: string): string {
  return `f.yaml:${line}:3: warning: MachineHealthCheck default/f: spec.${was}: older spelling of ${is}\n  hint: write ${is}`;
}

const cases: readonly {
  readonly name: string;
  readonly texts: readonly string[];
  readonly want: readonly [DiagnosticCode, string][];
}[] = [
  {
    name: "a rule of drains, in the group of today's Cluster API too",
    texts: [
      cluster,
      drainRule,
      drainRule
        .replace("cluster.k8s.io/v1alpha1", "cluster.x-k8s.io/v1beta2")
        .replace("name: r", "name: s"),
    ],
    want: [],
  },
  {
    name: "a rule that orders pods which are not evicted",
    texts: [cluster, drainRule.replace("behavior: Drain", "behavior: Skip")],
    want: [
      [
        "NOT_ALLOWED",
        "f.yaml:16:28: error: MachineDrainRule default/r: spec.drain.order: is of pods that are evicted, and these are not\n  hint: leave it out, or make the behavior Drain",
      ],
    ],
  },
  {
    name: "a rule of a behavior that nobody knows",
    texts: [cluster, drainRule.replace("behavior: Drain", "behavior: Drains")],
    want: [
      [
        "NOT_ALLOWED",
        'f.yaml:16:12: error: MachineDrainRule default/r: spec.drain.behavior: "Drains" is not one of Drain, Skip, WaitCompleted',
      ],
    ],
  },
  {
    name: "selectors of a rule that select by nothing, or that are none",
    texts: [
      cluster,
      drainRule.replace(
        "spec:",
        "spec:\n  machines: [{}]\n  pods: [{ selector: { matchExpressions: [{ key: a, operator: In }] } }]",
      ),
    ],
    want: [
      [
        "SELECTOR",
        "f.yaml:16:14: error: MachineDrainRule default/r: spec.machines.0: selects nothing by anything\n  hint: give it a selector, or leave the list out for all",
      ],
      [
        "SELECTOR",
        "f.yaml:17:12: error: MachineDrainRule default/r: spec.pods.0.selector: is no selector\n  hint: keys and values as labels have them; values for In and NotIn, none for Exists and DoesNotExist",
      ],
    ],
  },
  {
    name: "a rule of a namespace in which no Cluster is",
    texts: [cluster, drainRule.replace("name: r", "name: r, namespace: other")],
    want: [
      [
        "NO_EFFECT",
        "f.yaml:12:1: warning: MachineDrainRule other/r: is for no Cluster of these manifests\n  hint: a rule is for Clusters of its namespace, other, that a clusterSelector of it selects",
      ],
    ],
  },
  {
    name: "a health check, in the group of today's Cluster API too",
    texts: [
      cluster,
      set,
      healthCheck,
      healthCheck
        .replace("cluster.k8s.io/v1alpha1", "cluster.x-k8s.io/v1beta2")
        .replace("name: h", "name: i"),
    ],
    want: [],
  },
  {
    name: "a health check as v1beta1 of Cluster API spells it is understood",
    texts: [cluster, set, formerHealthCheck],
    want: [
      ["OLD_SPELLING", old(29, "maxUnhealthy", "unhealthyLessThanOrEqualTo")],
      ["OLD_SPELLING", old(30, "unhealthyRange", "unhealthyInRange")],
      ["OLD_SPELLING", old(31, "nodeStartupTimeout", "nodeStartupTimeoutSeconds")],
      ["OLD_SPELLING", old(32, "unhealthyConditions", "unhealthyNodeConditions")],
    ],
  },
  {
    name: "one whose timeout is none is refused where it stands",
    texts: [cluster, set, formerHealthCheck.replace("timeout: 5m", "timeout: soon")],
    want: [
      ["OLD_SPELLING", old(29, "maxUnhealthy", "unhealthyLessThanOrEqualTo")],
      ["OLD_SPELLING", old(30, "unhealthyRange", "unhealthyInRange")],
      ["OLD_SPELLING", old(31, "nodeStartupTimeout", "nodeStartupTimeoutSeconds")],
      ["OLD_SPELLING", old(32, "unhealthyConditions", "unhealthyNodeConditions")],
      [
        "WRONG_TYPE",
        'f.yaml:32:25: error: MachineHealthCheck default/f: spec.unhealthyConditions.0.timeoutSeconds: "soon" must be of type integer',
      ],
    ],
  },
  {
    name: "a health check of a Cluster that is not there",
    texts: [cluster, set, healthCheck.replace("clusterName: prod", "clusterName: prof")],
    want: [
      [
        "CLUSTER_MISSING",
        "f.yaml:27:3: error: MachineHealthCheck default/h: spec.clusterName: belongs to Cluster default/prof, which is not in these manifests\n  hint: clusters here: Cluster default/prod",
      ],
    ],
  },
  {
    name: "a health check of a range that is none, and one with what is not read",
    texts: [
      cluster,
      set,
      healthCheck.replace("[1-3]", "[3-1]"),
      healthCheck
        .replace("remediation: {", "remediation: { templateRef: { name: a },")
        .replace("name: h", "name: i"),
    ],
    want: [
      [
        "NOT_ALLOWED",
        "f.yaml:31:31: error: MachineHealthCheck default/h: spec.remediation.triggerIf.unhealthyInRange: begins above its end\n  hint: the least number first, e.g. [1-3]",
      ],
      [
        "FIELD_UNKNOWN",
        'f.yaml:41:18: error: MachineHealthCheck default/i: spec.remediation.templateRef: unknown field "templateRef"\n  hint: known fields: triggerIf',
      ],
    ],
  },
  {
    name: "a health check that selects nobody, or by nothing",
    texts: [
      cluster,
      set,
      healthCheck.replace("set: s", "set: other"),
      healthCheck.replace("{ matchLabels: { set: s } }", "{}").replace("name: h", "name: i"),
    ],
    want: [
      [
        "NO_EFFECT",
        "f.yaml:28:3: warning: MachineHealthCheck default/h: spec.selector: selects no Machine of its Cluster\n  hint: name labels that Machines carry, or the templates of sets and deployments",
      ],
      [
        "SELECTOR",
        "f.yaml:38:3: error: MachineHealthCheck default/i: spec.selector: is empty and would match nothing\n  hint: name labels that the template carries",
      ],
    ],
  },
];

describe("rules on drain rules and health checks", () => {
  for (const { name, texts, want } of cases) {
    it(name, () => {
      const { diagnostics } = read(...texts);
      assert.deepEqual(
        diagnostics.map((diagnostic) => [diagnostic.code, diagnosticText(diagnostic)]),
        want,
      );
    });
  }
});
