import type { MemberPath, Violation } from "../api/diagnostic-codes.js";
import {
  driftAnnotations,
  driftPolicies,
  fingerprintDigits,
  isFingerprint,
  parseBound,
  parseFreezeTime,
} from "../api/drift-policy.js";
import { isOfMachines } from "../api/machine-annotations.js";
import { parseRenewalDays, renewalAnnotation, renewalForm } from "../api/certificate-renewal.js";
import { keyAlgorithmAnnotation, keyAlgorithms } from "../api/key-algorithm.js";
import { isKeyStage, keysAnnotation } from "../api/key-stage.js";
import {
  leftoverChoices,
  leftoverDataAnnotation,
  leftoverDataChoices,
  leftoversAnnotation,
} from "../api/leftover-policy.js";
import { pausedAnnotation } from "../api/pause.js";
import {
  allowRemovalAnnotation,
  parseRemovals,
  protectAnnotation,
  protectValues,
  removals,
} from "../api/protection.js";
import { refreshLookupsAnnotation } from "../api/refresh-lookups.js";
import { profileAnnotation, profiles } from "../api/set-profile.js";
import type { AnyObject } from "../api/types.js";
import {
  ownAnnotationPrefix,
  updatePolicies,
  updatePolicyAnnotation,
} from "../api/update-policy.js";
import { nearest } from "../api/validate.js";
import { deleteMachineAnnotation } from "../api/delete-marks.js";
import { metadataIn, type ObjectHolder, type PlacedMetadata } from "./object-parts.js";

/** Where an annotation may stand. */
type AnnotationPlace = PlacedMetadata["place"];

/** What an annotation of this project may say, and where it is read. */
interface AnnotationRule {
  readonly what: string;
  /** The allowed values; of others the form is told. */
  readonly values?: readonly string[];
  fits(value: string): boolean;
  readonly form: string;
  readonly readOn: readonly AnnotationPlace[];
  /** The only holder of objects in which it is read; absent: both. */
  readonly holder?: ObjectHolder;
}

const cluster: readonly AnnotationPlace[] = ["Cluster"];
const sets: readonly AnnotationPlace[] = ["MachineSet", "MachineDeployment"];
const objects: readonly AnnotationPlace[] = [...cluster, "Machine", ...sets];
/** Whatever says something about machines: the nearest to one counts. */
const aboveMachines: readonly AnnotationPlace[] = [...objects, "template"];

function oneOf(
  what: string,
  values: readonly string[],
  readOn: readonly AnnotationPlace[],
): AnnotationRule {
  const fits = (value: string) => values.includes(value);
  return { what, values, fits, form: `one of ${values.join(", ")}`, readOn };
}

function onCluster(what: string, form: string, fits: AnnotationRule["fits"]): AnnotationRule {
  return { what, form, fits, readOn: cluster };
}

const isBound = (value: string) => parseBound(value) !== undefined;
const boundForm = 'a number of machines, or a share of them such as "40%"';

/** Every annotation of this project that users write. */
export const annotationRules: Readonly<Record<string, AnnotationRule>> = {
  [updatePolicyAnnotation]: oneOf("update policy", updatePolicies, aboveMachines),
  [profileAnnotation]: oneOf("profile of set arithmetic", profiles, sets),
  [protectAnnotation]: oneOf("protection", protectValues, objects),
  [allowRemovalAnnotation]: onCluster(
    "list of what may be lost",
    `${removals.join(" or ")}, or both with a comma between`,
    (value) => parseRemovals(value) !== undefined,
  ),
  [leftoversAnnotation]: oneOf("choice about leftovers", leftoverChoices, cluster),
  [leftoverDataAnnotation]: oneOf("choice about data", leftoverDataChoices, cluster),
  [keyAlgorithmAnnotation]: oneOf("algorithm of keys", keyAlgorithms, cluster),
  [keysAnnotation]: onCluster(
    "stage of keys",
    'the number of a set of keys such as "1", or of two that follow one another such as "1+2"',
    isKeyStage,
  ),
  [renewalAnnotation]: onCluster(
    "number of days before certificates expire",
    renewalForm,
    (value) => parseRenewalDays(value) !== undefined,
  ),
  [pausedAnnotation]: {
    ...onCluster("reason to rest", "any text", () => true),
    holder: "apiServer",
  },
  [refreshLookupsAnnotation]: onCluster("wish to look up again", "any text", () => true),
  [driftAnnotations.policy]: oneOf("drift policy", driftPolicies, aboveMachines),
  [driftAnnotations.maxUnhealthy]: onCluster("bound on unhealthy machines", boundForm, isBound),
  [driftAnnotations.maxInFlight]: onCluster("bound on corrections", boundForm, isBound),
  [driftAnnotations.freeze]: onCluster(
    "time to stay frozen",
    '"never", or a time such as "90s", "30m" or "2h"',
    (value) => parseFreezeTime(value) !== undefined,
  ),
  [driftAnnotations.thaw]: onCluster(
    "fingerprint of a drift report",
    `the ${fingerprintDigits} digits and letters that capstan drift shows`,
    isFingerprint,
  ),
};

/** An annotation where it stands. */
interface PlacedAnnotation {
  readonly name: string;
  readonly value: string;
  readonly place: AnnotationPlace;
  readonly path: MemberPath;
}

/** The annotations of an object that this project reads: known ones, where they are read, with values that they can have. Pure. */
export function checkAnnotations(object: AnyObject, holder: ObjectHolder): Violation[] {
  return annotationsIn(object)
    .filter(({ name }) => name.startsWith(ownAnnotationPrefix))
    .flatMap((one) => checkOwn(one, holder));
}

function checkOwn(
  { name, value, place, path }: PlacedAnnotation,
  holder: ObjectHolder,
): Violation[] {
  const rule = annotationRules[name];
  if (rule === undefined) {
    const near = nearest(name, Object.keys(annotationRules));
    const all = "docs/custom-resources.md lists all of them";
    const hint = near === undefined ? all : `did you mean ${near}? ${all}`;
    return [{ code: "FIELD_UNKNOWN", path, summary: `unknown annotation "${name}"`, hint }];
  }
  const notAllowed = (summary: string, hint: string): Violation[] => [
    { code: "NOT_ALLOWED", path, summary, hint },
  ];
  if (!rule.readOn.includes(place)) {
    return notAllowed(`is not read ${placeText(place)}`, `set it ${placesText(rule.readOn)}`);
  }
  if (rule.holder === "apiServer" && holder === "files") {
    return notAllowed("is not read in files", "set it on the Cluster in an API server");
  }
  if (rule.fits(value)) return [];
  const near = rule.values && nearest(value, rule.values);
  const hint = near === undefined ? rule.form : `did you mean ${near}?`;
  return notAllowed(`"${value}" is no ${rule.what}`, hint);
}

/** Annotations of Cluster API that say nothing where they stand. Pure. */
export function idleMarks(object: AnyObject): Violation[] {
  return [...idleDeleteMarks(object), ...idleMachineTerms(object)];
}

/** What says something of a Machine: on all but Machines and templates, of which Machines have it. */
function idleMachineTerms(object: AnyObject): Violation[] {
  return annotationsIn(object)
    .filter(({ name, place }) => isOfMachines(name) && !machinesOnly.includes(place))
    .map(({ place, path }) => ({
      code: "NO_EFFECT",
      path,
      summary: `is not read ${placeText(place)}`,
      hint: `set it ${placesText(machinesOnly)}`,
    }));
}

const machinesOnly: readonly AnnotationPlace[] = ["Machine", "template"];

/** Delete marks that choose no Machine: on all but sets, which name those that go first. */
function idleDeleteMarks(object: AnyObject): Violation[] {
  return annotationsIn(object)
    .filter(({ name, place }) => deleteMarkNames.includes(name) && !sets.includes(place))
    .map(({ place, path }) => ({
      code: "NO_EFFECT",
      path,
      summary: `chooses no Machine${idleMarkReasons[place] ?? ` ${placeText(place)}`}`,
      hint: `set it ${placesText(sets)}, with the names of those of its Machines that shall go first`,
    }));
}

const deleteMarkNames: readonly string[] = Object.values(deleteMachineAnnotation);

const idleMarkReasons: Partial<Record<AnnotationPlace, string>> = {
  Machine: ": no set has made this one",
  template: ": all of the set would carry it",
};

function annotationsIn(object: AnyObject): PlacedAnnotation[] {
  return metadataIn(object).flatMap(({ metadata: { annotations = {} }, place, path }) =>
    Object.entries(annotations).map(([name, value]) => ({
      name,
      value,
      place,
      path: [...path, "annotations", name],
    })),
  );
}

function placeText(place: AnnotationPlace): string {
  return place === "template" ? "in a template" : `on a ${place}`;
}

/** "on a MachineSet or MachineDeployment"; of what there is one, "on the Cluster". */
function placesText(places: readonly AnnotationPlace[]): string {
  const kinds = places.filter((place) => place !== "template");
  const [only] = kinds;
  if (kinds.length === 1) return `on the ${only ?? ""}`;
  const text = `on a ${kinds.slice(0, -1).join(", ")} or ${kinds.at(-1) ?? ""}`;
  return kinds.length < places.length ? `${text}, or in a template` : text;
}
