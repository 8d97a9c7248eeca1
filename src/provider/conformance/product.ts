// What the suite drives a provider with: the product itself, so that a provider passes exactly when
// the product can use it. This is the one place in src/provider that knows the layers below it.
/* eslint-disable no-restricted-imports */

export { compileParts, identityOf, templateJudge } from "../../compile/compile.js";
export { CloudResource } from "../../dynamic/cloud-resource.js";
export { observe as look } from "../../engine/observe.js";
export { readDesired } from "../../manifest/desired.js";
export { diagnosticText } from "../../manifest/diagnostic.js";
export { machineKey } from "../../plan/hosts.js";
export { makePlan, type Plan } from "../../plan/plan.js";
export type { PriorState, RecordedResource } from "../../plan/target.js";
export { type ExpandedMachine, expandMachines } from "../../sets/expand.js";
