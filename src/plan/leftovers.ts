import { counted } from "../api/counted.js";
import type { LeftoverPolicy } from "../api/leftover-policy.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { isUserObject, type Leftover, leftoverName, makerText } from "../provider/leftovers.js";

/** What a destroy does with one thing that a controller in the cluster has made, and why. JSON data. */
export interface PlannedLeftover {
  readonly leftover: Leftover;
  /** `report`: it stays, and somebody should look at it; `keep`: it stays, as it is to. */
  readonly does: "remove" | "report" | "keep";
  readonly reason: string;
}

/** Decides on everything that was found, lowest wave first. Pure. */
export function planLeftovers(
  found: readonly Leftover[],
  policy: LeftoverPolicy,
): PlannedLeftover[] {
  return found
    .toSorted((one, other) => one.wave - other.wave)
    .map((leftover) => ({ leftover, ...decided(leftover, policy) }));
}

function decided(
  { holdsData, doubt, blocks }: Leftover,
  { leftovers, data }: LeftoverPolicy,
): Pick<PlannedLeftover, "does" | "reason"> {
  if (doubt !== undefined) return { does: "report", reason: `it stays: ${doubt}` };
  if (holdsData === true) {
    return data === "remove"
      ? { does: "remove", reason: "its data goes with it" }
      : { does: "keep", reason: "it holds data and stays" };
  }
  if (leftovers === "remove") return { does: "remove", reason: "" };
  const stands = blocks === undefined ? "" : `, and ${blocks} cannot go before it`;
  return { does: "report", reason: `it stays${stands}` };
}

/** What is to be removed, lowest wave first. Pure. */
export function leftoversToRemove(planned: readonly PlannedLeftover[] = []): Leftover[] {
  return planned.filter(({ does }) => does === "remove").map(({ leftover }) => leftover);
}

/** What stays. Pure. */
export function leftoversThatStay(planned: readonly PlannedLeftover[] = []): PlannedLeftover[] {
  return planned.filter(({ does }) => does !== "remove");
}

/** Equal waves together, in their order. Pure. */
export function leftoverWaves(leftovers: readonly Leftover[]): (readonly Leftover[])[] {
  const waves = [...new Set(leftovers.map(({ wave }) => wave))].sort((one, other) => one - other);
  return waves.map((number) => leftovers.filter(({ wave }) => wave === number));
}

/** "volume vol-1: made by aws-ebs-csi-driver for PersistentVolumeClaim shop/data; it holds data and stays". Pure. */
export function leftoverLine({ leftover, reason }: PlannedLeftover): string {
  const told = reason === "" ? "" : `; ${reason}`;
  return `${leftoverName(leftover)}: ${makerText(leftover)}${told}`;
}

/**
 * What people can do about what stays, a sentence each: as long as the cluster runs, whoever made it takes it away
 * best. `command` is the one that destroys. Empty where nothing is to be done. Pure.
 */
export function leftoverAdvice(planned: readonly PlannedLeftover[], command: string): string[] {
  const blocking = planned.filter(({ does, leftover }) => does === "report" && leftover.blocks);
  const sure = blocking.filter(({ leftover }) => leftover.doubt === undefined);
  const about = [...new Set(sure.map(({ leftover }) => leftover.about ?? ""))].filter(isUserObject);
  const first = about.length === 0 ? "" : `delete ${about.join(", ")} while the cluster runs, or `;
  return [
    ...(sure.length === 0
      ? []
      : [
          `${counted(sure.length, "resource")} would stand in the way: ${first}add --leftovers remove to ${command}`,
        ]),
    ...(planned.some(({ does }) => does === "keep")
      ? [`What holds data goes only with --leftover-data remove`]
      : []),
  ];
}

/** A leftover for programs: what is shown of it, without what only the provider needs. */
interface LeftoverDocument extends Pick<
  Leftover,
  "kind" | "id" | "name" | "by" | "about" | "blocks" | "holdsData"
> {
  readonly does: PlannedLeftover["does"];
  readonly reason: string;
}

/** Pure. */
export function leftoverDocument({ leftover, does, reason }: PlannedLeftover): LeftoverDocument {
  const { kind, id, name, by, about, blocks, holdsData } = leftover;
  return omitUndefined<LeftoverDocument>({
    does,
    kind,
    id,
    name,
    by,
    about,
    blocks,
    holdsData,
    reason,
  });
}
