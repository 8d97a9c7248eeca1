import { omitUndefined } from "../../api/omit-undefined.js";
import { shownUnlessSecret } from "../../api/secret-fields.js";
import { keyOf, type NodeKey } from "../../graph/graph.js";
import {
  secretInputsOf,
  secretObjectFields,
  secretOutputsOf,
  withSecretFields,
} from "../../provider/secret-fields.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import { cloudResources, type PriorState } from "../../records/prior-state.js";
import type { Target } from "../../records/target.js";
import type { InfrastructureChange, MachineChange, Plan, ResourceInput } from "../plan.js";
import type { ChangedField, Step } from "../step.js";

/** The target with what of it is secret, for its records and for all that shows it. Pure, idempotent. */
export function withMarkedSecrets(target: Target, provider: InfrastructureProvider): Target {
  const { secretFields: before = [], ...rest } = target;
  const marked = secretObjectFields(provider, target.objects);
  const secretFields = [...new Set([...before, ...marked])].sort();
  return omitUndefined({
    ...rest,
    nodes: withSecretFields(target.nodes, provider),
    secretFields: secretFields.length > 0 ? secretFields : undefined,
  });
}

type Shown = Pick<Plan, "steps" | "infrastructure" | "machines">;

/**
 * What a plan shows of changes, with `[secret]` for the values of secret fields: that they change is told, and nothing else. Goes
 * last: what is decided by values was decided before. Pure.
 */
export function withoutSecretValues<Changes extends Shown>(
  changes: Changes,
  about: {
    readonly target: Target;
    readonly prior: PriorState;
    readonly provider: InfrastructureProvider;
  },
): Changes {
  const secretOf = secretPaths(about);
  return {
    ...changes,
    steps: changes.steps.map((step) => stepShown(step, secretOf)),
    infrastructure: changes.infrastructure.map((one) => resourceShown(one, secretOf)),
    machines: changes.machines.map((one) => machineShown(one, secretOf)),
  };
}

type SecretPaths = (key: NodeKey, kind?: "external") => ReadonlySet<string>;

/** By what the provider says now, by the target, and by what is recorded: each may know one that the others do not. */
function secretPaths({
  target,
  prior,
  provider,
}: Parameters<typeof withoutSecretValues>[1]): SecretPaths {
  const told = new Map<NodeKey, readonly string[]>();
  const tell = (key: NodeKey, inputs: readonly string[] = []) =>
    told.set(key, [...(told.get(key) ?? []), ...inputs]);
  for (const node of target.nodes) tell(keyOf(node), node.secret?.inputs);
  for (const { key, secret } of cloudResources(prior)) tell(key, secret?.inputs);
  return (key, kind) => {
    const ofKind = key.split("/")[0] ?? "";
    if (kind === "external") return new Set(secretOutputsOf(provider, ofKind));
    return new Set([...secretInputsOf(provider, ofKind), ...(told.get(key) ?? [])]);
  };
}

function stepShown(step: Step, secretOf: SecretPaths): Step {
  return step.kind === "update"
    ? { ...step, changes: changesShown(step.changes, secretOf(step.key)) }
    : step;
}

function resourceShown(change: InfrastructureChange, secretOf: SecretPaths): InfrastructureChange {
  const secret = secretOf(change.key, change.kind === "external" ? change.kind : undefined);
  return omitUndefined({
    ...change,
    changes: changesShown(change.changes, secret),
    inputs: change.inputs && inputsShown(change.inputs, secret),
  });
}

function machineShown(change: MachineChange, secretOf: SecretPaths): MachineChange {
  const { host } = change;
  if (host === undefined) return change;
  const secret = secretOf(host);
  return omitUndefined({
    ...change,
    changes: changesShown(change.changes, secret),
    inputs: change.inputs && inputsShown(change.inputs, secret),
    alternatives: change.alternatives?.map((one) => inputsShown(one, secret)),
  });
}

/** Changes with `[secret]` for the values of these fields. Pure. */
export function changesShown(
  changes: readonly ChangedField[],
  secret: ReadonlySet<string>,
): readonly ChangedField[] {
  return changes.map((change) => {
    const isSecret = secret.has(change.path);
    return omitUndefined({
      ...change,
      from: shownUnlessSecret(change.from, isSecret),
      to: shownUnlessSecret(change.to, isSecret),
    });
  });
}

function inputsShown(
  inputs: readonly ResourceInput[],
  secret: ReadonlySet<string>,
): readonly ResourceInput[] {
  return inputs.map(({ path, value }) => ({
    path,
    value: shownUnlessSecret(value, secret.has(path)),
  }));
}
