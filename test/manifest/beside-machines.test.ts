import assert from "node:assert/strict";
import type { DiagnosticCode } from "../../src/api/diagnostic-codes.js";
import { cluster, read, set, toldOf } from "./texts.js";
import { testGolden } from "../support/golden.js";

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

const cases: readonly {
  readonly name: string;
  readonly texts: readonly string[];
  readonly codes: readonly DiagnosticCode[];
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
    codes: [],
  },
  {
    name: "a rule that orders pods which are not evicted",
    texts: [cluster, drainRule.replace("behavior: Drain", "behavior: Skip")],
    codes: ["NOT_ALLOWED"],
  },
  {
    name: "a rule of a behavior that nobody knows",
    texts: [cluster, drainRule.replace("behavior: Drain", "behavior: Drains")],
    codes: ["NOT_ALLOWED"],
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
    codes: ["SELECTOR", "SELECTOR"],
  },
  {
    name: "a rule of a namespace in which no Cluster is",
    texts: [cluster, drainRule.replace("name: r", "name: r, namespace: other")],
    codes: ["NO_EFFECT"],
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
    codes: [],
  },
  {
    name: "a health check as v1beta1 of Cluster API spells it is understood",
    texts: [cluster, set, formerHealthCheck],
    codes: ["OLD_SPELLING", "OLD_SPELLING", "OLD_SPELLING", "OLD_SPELLING"],
  },
  {
    name: "one whose timeout is none is refused where it stands",
    texts: [cluster, set, formerHealthCheck.replace("timeout: 5m", "timeout: soon")],
    codes: ["OLD_SPELLING", "OLD_SPELLING", "OLD_SPELLING", "OLD_SPELLING", "WRONG_TYPE"],
  },
  {
    name: "a health check of a Cluster that is not there",
    texts: [cluster, set, healthCheck.replace("clusterName: prod", "clusterName: prof")],
    codes: ["CLUSTER_MISSING"],
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
    codes: ["NOT_ALLOWED", "FIELD_UNKNOWN"],
  },
  {
    name: "a health check that selects nobody, or by nothing",
    texts: [
      cluster,
      set,
      healthCheck.replace("set: s", "set: other"),
      healthCheck.replace("{ matchLabels: { set: s } }", "{}").replace("name: h", "name: i"),
    ],
    codes: ["NO_EFFECT", "SELECTOR"],
  },
];

describe("rules on drain rules and health checks", () => {
  testGolden("diagnostics-beside-machines", cases, ({ texts, codes }) => {
    const { diagnostics } = read(...texts);
    assert.deepEqual(
      diagnostics.map(({ code }) => code),
      codes,
    );
    return toldOf({ diagnostics });
  });
});
