import { type CelRule, celText, oneLine, type RuleWords } from "./cel.js";
import { labelValue, maxSubdomainLength, qualifiedName } from "./name-forms.js";
import { omitUndefined } from "./omit-undefined.js";

/** The words of rules that the CLI (src/manifest/checks.ts) and an API server both know. */
export const ruleWords = {
  bothProviderSpecs: {
    summary: "both value and valueFrom are set",
    hint: "the provider's object stands in value, or valueFrom names a MachineClass",
  },
  noProviderSpec: {
    summary: "neither value nor valueFrom is set",
    hint: "the provider's object stands in value, or valueFrom names a MachineClass",
  },
  noMaster: {
    summary: "lacks Master although versions.controlPlane is set",
    hint: "add Master to roles, or take versions.controlPlane away",
  },
  badKey: {
    summary: "is no key",
    hint: "up to 63 letters, digits, dashes, underscores and dots, perhaps behind a DNS name and a slash, e.g. example.com/team",
  },
  badLabelValue: {
    summary: "is no value of a label or a taint",
    hint: "up to 63 letters, digits, dashes, underscores and dots, with a letter or a digit first and last",
  },
  doubleTaint: {
    summary: "has the key and the effect of an earlier taint",
    hint: "a Node has one value for them",
  },
  doubleRole: {
    summary: "names one role twice",
    hint: "Master for a control-plane member, Node for a worker, both for a member that takes pods too",
  },
  emptySelector: {
    summary: "is empty and would match nothing",
    hint: "name labels that the template carries",
  },
  badRange: {
    summary: "is no address range",
    hint: "an address and a prefix length, e.g. 10.96.0.0/12",
  },
  overlap: {
    summary: "overlaps another range of the cluster",
    hint: "Services and Pods need ranges of their own",
  },
  idleOrder: {
    summary: "is of pods that are evicted, and these are not",
    hint: "leave it out, or make the behavior Drain",
  },
  noSelector: {
    summary: "selects nothing by anything",
    hint: "give it a selector, or leave the list out for all",
  },
  badSelector: {
    summary: "is no selector",
    hint: "keys and values as labels have them; values for In and NotIn, none for Exists and DoesNotExist",
  },
  emptyRange: {
    summary: "begins above its end",
    hint: "the least number first, e.g. [1-3]",
  },
  mismatch: {
    summary: "does not match the template's labels",
    hint: "spec.template.metadata.labels must satisfy it",
  },
  newRole: {
    summary: "a Machine cannot change between worker and control-plane member",
    hint: "make a new one under another name, then delete this one",
  },
  deadline: {
    summary: "is over before any machine has been ready for minReadySeconds",
    hint: "more than minReadySeconds, or 0 for no limit",
  },
  kubeletNewer: {
    summary: "is newer than the control plane",
    hint: "raise the control plane first",
  },
  kubeletTooOld: {
    summary: "is too old for the control plane",
    hint: "raise the kubelet first",
  },
} as const satisfies Readonly<Record<string, RuleWords>>;

/** What a schema's options carry to the CRD; TypeBox passes over it. */
export interface RuleOptions {
  readonly "x-kubernetes-validations": readonly CelRule[];
}

/** Options of a schema to which these rules apply, where an API server checks it. */
function checkedBy(...rules: readonly CelRule[]): RuleOptions {
  return { "x-kubernetes-validations": rules };
}

function ruleOf(rule: string, words: RuleWords, fieldPath?: string): CelRule {
  return omitUndefined({ rule, message: oneLine(words), fieldPath });
}

export const providerSpecRules = checkedBy(
  ruleOf("!has(self.value) || !has(self.valueFrom)", ruleWords.bothProviderSpecs, ".valueFrom"),
  ruleOf("has(self.value) || has(self.valueFrom)", ruleWords.noProviderSpec),
);

const runsControlPlane = (spec: string) =>
  `(has(${spec}.versions) && has(${spec}.versions.controlPlane) || has(${spec}.roles) && 'Master' in ${spec}.roles)`;

/** As src/plan/refusals/immutable.ts: a manifest that says nothing of the role leaves it as it is. */
export const machineSpecRules = checkedBy(
  ruleOf(
    "!has(self.roles) || !has(self.versions) || !has(self.versions.controlPlane) || 'Master' in self.roles",
    ruleWords.noMaster,
    ".roles",
  ),
  ruleOf(
    "!has(self.roles) || self.roles.size() != 2 || self.roles[0] != self.roles[1]",
    ruleWords.doubleRole,
    ".roles",
  ),
  ruleOf(
    `!has(self.roles) && !has(self.versions) || ${runsControlPlane("self")} == ${runsControlPlane("oldSelf")}`,
    ruleWords.newRole,
  ),
);

/** Major and minor as one number, as `minorOf` of src/api/versions.ts has them. */
const minorOf = (version: string) =>
  `(int(self.${version}.replace('v', '').split('.')[0]) * 1000 + int(self.${version}.split('.')[1]))`;
/** A kubelet that is left out is chosen to fit. */
const isIncomparable =
  "!has(self.controlPlane) || !has(self.kubelet) || ![self.kubelet, self.controlPlane].all(v, v.matches('^v?[0-9]{1,3}[.][0-9]{1,3}[.]'))";

/** As src/api/versions.ts, between a kubelet and the control plane of the same machine. */
export const versionsRules = checkedBy(
  ruleOf(
    `${isIncomparable} || ${minorOf("kubelet")} <= ${minorOf("controlPlane")}`,
    ruleWords.kubeletNewer,
    ".kubelet",
  ),
  ruleOf(
    `${isIncomparable} || ${minorOf("controlPlane")} - ${minorOf("kubelet")} <= (${minorOf("controlPlane")} >= 1028 ? 3 : 2)`,
    ruleWords.kubeletTooOld,
    ".kubelet",
  ),
);

export const selectorRules = checkedBy(
  ruleOf(
    "has(self.matchLabels) && self.matchLabels.size() > 0 || has(self.matchExpressions) && self.matchExpressions.size() > 0",
    ruleWords.emptySelector,
  ),
);

/** As `checkDrainRule` of src/manifest/drain-rules.ts. */
export const drainRules = {
  drain: checkedBy(
    ruleOf("self.behavior == 'Drain' || !has(self.order)", ruleWords.idleOrder, ".order"),
  ),
  machines: checkedBy(
    ruleOf("has(self.selector) || has(self.clusterSelector)", ruleWords.noSelector),
  ),
  pods: checkedBy(
    ruleOf("has(self.selector) || has(self.namespaceSelector)", ruleWords.noSelector),
  ),
};

const rangeEnd = "self.indexOf('-')";

/** As `checkHealthCheck` of src/manifest/health-checks.ts. */
export const unhealthyRangeRules = checkedBy(
  ruleOf(
    `!self.matches('^\\\\[[0-9]+-[0-9]+\\\\]$') || int(self.substring(1, ${rangeEnd})) <= int(self.substring(${rangeEnd} + 1, self.size() - 1))`,
    ruleWords.emptyRange,
  ),
);

const wantedLabels = "self.selector.matchLabels";
const templateLabels = "self.template.metadata.labels";
const hasLabels = "has(self.template.metadata) && has(self.template.metadata.labels)";
const carries = (key: string) =>
  `(${hasLabels} && ${key} in ${templateLabels} && ${templateLabels}[${key}] == ${wantedLabels}[${key}])`;
const hasKey = `(${hasLabels} && r.key in ${templateLabels})`;
const isAmongValues = `has(r.values) && ${templateLabels}[r.key] in r.values`;

/** As `checkSelector`: a set must own the Machines that it makes. */
const selectorMatchRules: readonly CelRule[] = [
  ruleOf(
    `!has(${wantedLabels}) || ${wantedLabels}.all(k, ${carries("k")})`,
    ruleWords.mismatch,
    ".selector.matchLabels",
  ),
  ruleOf(
    `!has(self.selector.matchExpressions) || self.selector.matchExpressions.all(r, ` +
      `r.operator == 'In' ? ${hasKey} && ${isAmongValues} : ` +
      `r.operator == 'NotIn' ? !${hasKey} || !(${isAmongValues}) : ` +
      `r.operator == 'Exists' ? ${hasKey} : !${hasKey})`,
    ruleWords.mismatch,
    ".selector.matchExpressions",
  ),
];

export const setRules = checkedBy(...selectorMatchRules);

export const deploymentRules = checkedBy(
  ...selectorMatchRules,
  ruleOf(
    "self.progressDeadlineSeconds == 0 || self.progressDeadlineSeconds > self.minReadySeconds",
    ruleWords.deadline,
    ".progressDeadlineSeconds",
  ),
);

const isKey = (key: string, spelled = key) =>
  `${spelled}.matches(${celText(qualifiedName)}) && ${key}.indexOf('/') <= ${maxSubdomainLength}`;

/** As src/manifest/label-syntax.ts. An annotation's key may have capitals before its slash, as in Kubernetes. */
export const keyRules = {
  labels: checkedBy(ruleOf(`self.all(k, ${isKey("k")})`, ruleWords.badKey)),
  annotations: checkedBy(ruleOf(`self.all(k, ${isKey("k", "k.lowerAscii()")})`, ruleWords.badKey)),
};

export const taintKeyRules = checkedBy(ruleOf(isKey("self"), ruleWords.badKey));

export const labelValueRules = checkedBy(
  ruleOf(`self.matches(${celText(labelValue)})`, ruleWords.badLabelValue),
);

export const rangeRules = checkedBy(ruleOf("isCIDR(self)", ruleWords.badRange));

const overlaps = (left: string, right: string) =>
  `isCIDR(${left}) && isCIDR(${right}) && (cidr(${left}).containsCIDR(${right}) || cidr(${right}).containsCIDR(${left}))`;

/** As `checkCluster`: no address may mean two things. */
export const networkRules = checkedBy(
  ruleOf(
    `!self.pods.cidrBlocks.exists(p, self.services.cidrBlocks.exists(s, ${overlaps("p", "s")}))`,
    ruleWords.overlap,
    ".pods.cidrBlocks",
  ),
  ...["services", "pods"].map((network) =>
    ruleOf(
      `self.${network}.cidrBlocks.all(a, !isCIDR(a) || self.${network}.cidrBlocks.exists_one(b, ${overlaps("a", "b")}))`,
      ruleWords.overlap,
      `.${network}.cidrBlocks`,
    ),
  ),
);
