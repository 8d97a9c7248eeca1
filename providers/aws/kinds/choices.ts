import { digestOf } from "../../../src/api/digest.js";
import { isJsonObject, type Json, type JsonObject, sameJson } from "../../../src/api/json.js";

/** Inputs of a host by which its alternatives differ. */
const fields = ["instanceType", "zone", "subnetId"] as const;

/** What a host may be instead where EC2 has no room for it, best first; what is like the host itself is none. Pure. */
export function alternativesOf(host: JsonObject): JsonObject[] {
  return choicesIn(host)
    .map((choice) => ({ ...host, ...choice }))
    .filter((one) => !sameJson(partOf(one), partOf(host)));
}

/**
 * The client token of a launch. EC2 binds one to parameters and zone, whatever came of the launch, so that an alternative has
 * its own; what is wanted has that of the host. Pure.
 */
export function launchToken(token: string, spec: JsonObject): string {
  const part = partOf(spec);
  const isAlternative = choicesIn(spec).some((choice) => sameJson(choice, part));
  return isAlternative ? `${token}-${digestOf(part, 16)}` : token;
}

/** Alternatives as a tag holds them. EC2 shows no other trace of them. Pure. */
export function choicesText(spec: JsonObject): string | undefined {
  const choices = choicesIn(spec);
  if (choices.length === 0) return undefined;
  return choices.map((choice) => fields.map((field) => plain(choice[field])).join("@")).join(" ");
}

/** The same read again; undefined of a host that has none. Pure. */
export function choicesOfText(text: string | undefined): JsonObject[] | undefined {
  return text?.split(" ").map((one) => {
    const [instanceType = "", zone = "", subnet = ""] = one.split("@");
    return { instanceType, zone, subnetId: `subnet-${subnet}` };
  });
}

function choicesIn({ alternatives }: JsonObject): JsonObject[] {
  return Array.isArray(alternatives) ? alternatives.filter((one) => isJsonObject(one)) : [];
}

function partOf(spec: JsonObject): JsonObject {
  return Object.fromEntries(fields.map((field) => [field, spec[field] ?? null]));
}

/** A tag takes 256 characters: four alternatives without what all subnets begin with. */
function plain(value: Json | undefined): string {
  return String(value ?? "").replace(/^subnet-/, "");
}
