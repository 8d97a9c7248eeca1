import type { AnyObject, Desired } from "../api/types.js";
import { objectsOf } from "../api/types.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { type Diagnostic, diagnosisText, diagnosticText } from "../manifest/diagnostic.js";
import type { Manifests, NamedObject } from "../manifest/desired.js";
import { describe } from "../manifest/object-parts.js";
import type { KeptGoal } from "../source/intent.js";
import { withoutClasses } from "./machine-classes.js";

/** An object of a cluster as its API server has it. */
export interface WrittenObject extends NamedObject {
  /** Names of the objects whose contents it takes: "MachineClass default/small". */
  readonly uses: readonly string[];
}

/** An object that is read: as it is written now, or as it was accepted last. */
type Entry = WrittenObject & { readonly accepted?: AnyObject };

interface KeptGoalOptions {
  readonly written: readonly WrittenObject[];
  /** The objects of the last goal that was accepted; absent: none was. */
  readonly accepted: Desired | undefined;
  /** What its API server tells of objects as a whole. Their values are read, not changed. */
  readonly read: (objects: readonly NamedObject[]) => Manifests;
}

/**
 * What a cluster is kept by while some of its objects are wrong: the accepted form of each wrong object stands for
 * it, and a wrong object that was never accepted is left out. Where accepted forms contradict the other objects,
 * the accepted members of the cluster stand as a whole. Undefined where no Cluster is left to keep, or where the
 * Cluster may not use the credentials that it names. Every step replaces an object, so that it ends. Pure.
 */
export function keptGoalOf({ written, accepted, read }: KeptGoalOptions): KeptGoal | undefined {
  const known = new Map((accepted ? objectsOf(accepted) : []).map((one) => [describe(one), one]));
  const diagnostics: Diagnostic[] = [];
  let entries: readonly Entry[] = written;
  for (let isWhole = false; ;) {
    const { clusters, diagnostics: found } = read(entries);
    const errors = found.filter(({ severity }) => severity === "error");
    const [desired] = clusters;
    if (errors.length === 0) {
      const told = new Map(diagnostics.map((one) => [diagnosticText(one), one]));
      return (
        desired && {
          desired: withAccepted(desired, entries),
          diagnostics: [...told.values()],
        }
      );
    }
    // A permission is no property of an object that an older form of it could restore.
    if (errors.some(({ code }) => code === "IDENTITY_REFUSED")) return undefined;
    const wrong = wrongAmong(entries, errors);
    if (wrong.size === 0) return undefined;
    diagnostics.push(...[...wrong.values()].flat());
    const contradicts = entries.some((one) => one.accepted !== undefined && wrong.has(one.name));
    if (contradicts && isWhole) return undefined;
    isWhole = contradicts;
    entries = contradicts ? acceptedMembers(entries, known) : replaced(entries, wrong, known);
  }
}

/** What is wrong with each object, the errors of the objects that it uses included. */
function wrongAmong(
  entries: readonly Entry[],
  errors: readonly Diagnostic[],
): ReadonlyMap<string, readonly Diagnostic[]> {
  const of = (name: string) => errors.filter(({ position }) => position.file === name);
  const wrong = entries.map(({ name, uses }) => {
    const used = uses.flatMap((one) =>
      of(one).map((error): Diagnostic => {
        const { code, severity } = error;
        const summary = `uses ${one}, which is wrong: ${diagnosisText(error)}`;
        return { code, severity, position: { file: name }, subject: name, summary };
      }),
    );
    return [name, [...of(name), ...used]] as const;
  });
  return new Map(wrong.filter(([, told]) => told.length > 0));
}

function replaced(
  entries: readonly Entry[],
  wrong: ReadonlyMap<string, unknown>,
  known: ReadonlyMap<string, AnyObject>,
): Entry[] {
  return entries.flatMap((entry) => {
    if (!wrong.has(entry.name)) return [entry];
    const accepted = known.get(entry.name);
    return accepted === undefined ? [] : [acceptedEntry(entry.name, accepted)];
  });
}

/** Everything that was accepted, with the Cluster as it is read now: its credentials were looked at. */
function acceptedMembers(
  entries: readonly Entry[],
  known: ReadonlyMap<string, AnyObject>,
): Entry[] {
  const cluster = entries.filter(({ name }) => name.startsWith("Cluster "));
  const members = [...known].filter(([, { kind }]) => kind !== "Cluster");
  return [...cluster, ...members.map(([name, one]) => acceptedEntry(name, one))];
}

function acceptedEntry(name: string, accepted: AnyObject): Entry {
  return { name, value: withoutClasses(accepted), uses: [], accepted };
}

/** Accepted objects word for word, as they are recorded: reading them again says nothing new. */
function withAccepted(desired: Desired, entries: readonly Entry[]): Desired {
  const accepted = new Map(
    entries.flatMap((one) => (one.accepted === undefined ? [] : [[one.name, one.accepted]])),
  );
  const recorded = <O extends AnyObject>(object: O): O =>
    (accepted.get(describe(object)) as O | undefined) ?? object;
  return omitUndefined({
    cluster: recorded(desired.cluster),
    machines: desired.machines.map(recorded),
    machineSets: desired.machineSets.map(recorded),
    machineDeployments: desired.machineDeployments.map(recorded),
    drainRules: desired.drainRules.map(recorded),
    healthChecks: desired.healthChecks.map(recorded),
  });
}
