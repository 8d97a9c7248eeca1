import semver from "semver";
import type { FailureDomains } from "../api/failure-domains.js";
import { isJsonObject } from "../api/json.js";
import { ignorableFields, isInRange } from "../api/provider-specs.js";
import { nestedSecretsIn } from "../api/secret-fields.js";
import { userDataFieldNames } from "../api/user-data-fields.js";
import { nearest } from "../api/validate.js";
import type { MachineCalls, ProviderDefinition } from "./definition.js";
import { hostFieldsOf, nodeFields } from "./host-spec.js";
import { olderVersionProblems } from "./older-versions.js";
import { handlerCalls } from "./provider-calls.js";
import { fieldsOf, isOpenSchema } from "./spec-schema.js";

type Written<T> = Partial<Readonly<Record<keyof T, unknown>>>;

/** The names of all members of a type: the compiler refuses a list that lacks one. */
function namesOf<T>(members: Readonly<Record<keyof T, true>>): string[] {
  return Object.keys(members);
}

const definitionMembers = namesOf<ProviderDefinition>({
  name: true,
  apiVersion: true,
  olderVersions: true,
  machineSpec: true,
  clusterSpec: true,
  hostKind: true,
  keyInputs: true,
  kinds: true,
  infrastructure: true,
  satellites: true,
  rules: true,
  userData: true,
  apiEndpoint: true,
  hostSpec: true,
  alternatives: true,
  failureDomains: true,
  machine: true,
  timing: true,
  calls: true,
  identity: true,
  preflight: true,
  resolve: true,
  lookupInputs: true,
  identities: true,
  forCluster: true,
  leftovers: true,
  removeLeftover: true,
  close: true,
});
const callNames = namesOf<MachineCalls>({
  timing: true,
  unobservable: true,
  secretInputs: true,
  secretOutputs: true,
  tokensLast: true,
  ...handlerCalls,
  list: true,
});
const specMembers = ["kind", "schema"];
const machineSpecMembers = [...specMembers, "initial", "offers", "ignores"];
const clusterSpecMembers = [...specMembers, "networks", "fromEnvironment"];
const olderVersionMembers = ["apiVersion", "formerly", "deprecated", "machineSpec", "clusterSpec"];
const changeKinds = ["inPlace", "replace", "unsupported"];

/** What is wrong with a definition, which no compiler may have seen, in words. Pure. */
export function definitionProblems(definition: Written<ProviderDefinition>): string[] {
  const { name, apiVersion, machineSpec } = definition;
  const spec = membersOf(machineSpec);
  return [
    ...(typeof name === "string" && /^[a-z][a-z0-9-]*$/.test(name)
      ? []
      : ["name must be a lower-case word"]),
    ...(typeof apiVersion === "string" && /^[^/\s]+\/[^/\s]+$/.test(apiVersion)
      ? []
      : ["apiVersion must be <group>/<version>"]),
    ...(isSpecDefinition(machineSpec) ? [] : ["machineSpec must have a kind and a schema"]),
    ...callProblems("machine", definition.machine),
    ...kindProblems(definition),
    ...olderVersionProblems(apiVersion, definition.olderVersions),
    ...unknownMembers(definition),
    ...offerProblems(spec["offers"]),
    ...ignoreProblems(spec["ignores"]),
    ...networkProblems(definition.clusterSpec),
    ...hostFieldProblems(definition),
    ...endpointProblems(definition),
    ...rateProblems(definition.calls),
    ...domainProblems(definition),
    ...lookupProblems(definition),
    ...functionProblems("alternatives", definition.alternatives),
    ...leftoverProblems(definition),
    ...secretProblems(definition),
  ];
}

/** A secret that nobody would keep: marked where nobody looks for marks. */
function secretProblems({ machineSpec, clusterSpec, machine, kinds }: Written<ProviderDefinition>) {
  const nested = (of: string, spec: unknown) =>
    nestedSecretsIn(membersOf(spec)["schema"]).map(
      (path) =>
        `${of}: writeOnly of ${path} must stand at ${path.split(".")[0] ?? path}, as a whole`,
    );
  const lists = (at: string, calls: unknown) =>
    ["secretInputs", "secretOutputs"].flatMap((name) => {
      const written = membersOf(calls)[name];
      const isList =
        written === undefined ||
        (Array.isArray(written) && written.every((one) => typeof one === "string"));
      return isList ? [] : [`${at}.${name} must be a list of fields`];
    });
  return [
    ...nested("machineSpec", machineSpec),
    ...nested("clusterSpec", clusterSpec),
    ...lists("machine", machine),
    ...Object.entries(membersOf(kinds)).flatMap(([kind, one]) =>
      lists(`kinds.${kind}.calls`, membersOf(one)["calls"]),
    ),
  ];
}

/** What is found could not be removed, or nobody would look what it is. */
function leftoverProblems({ leftovers, removeLeftover }: Written<ProviderDefinition>): string[] {
  const isHalf = (leftovers === undefined) !== (removeLeftover === undefined);
  return [
    ...functionProblems("leftovers", leftovers),
    ...functionProblems("removeLeftover", removeLeftover),
    ...(isHalf ? ["leftovers and removeLeftover must be there together"] : []),
  ];
}

/** A member that may be left out, and is a function where it is there. */
function functionProblems(name: string, member: unknown): string[] {
  return member === undefined || typeof member === "function" ? [] : [`${name} must be a function`];
}

/** What nobody could look up, and fields that no object has. */
function lookupProblems(definition: Written<ProviderDefinition>): string[] {
  const { resolve, lookupInputs, machineSpec, clusterSpec } = definition;
  const named = membersOf(lookupInputs);
  const fieldProblems = (of: "machine" | "cluster" | "clusterOnly", spec: unknown) => {
    const { schema } = membersOf(spec);
    if (named[of] !== undefined && !Array.isArray(named[of])) {
      return [`lookupInputs.${of} must be a list of fields`];
    }
    if (!isJsonObject(schema) || isOpenSchema(schema)) return [];
    return unknownWords(`lookupInputs.${of}`, named[of], fieldsOf(schema));
  };
  return [
    ...functionProblems("resolve", resolve),
    ...(lookupInputs !== undefined && resolve === undefined
      ? ["lookupInputs names what resolve is asked, and there is no resolve"]
      : []),
    ...fieldProblems("machine", machineSpec),
    ...fieldProblems("cluster", clusterSpec ?? { schema: {} }),
    ...fieldProblems("clusterOnly", clusterSpec ?? { schema: {} }),
  ];
}

function rateProblems(calls: unknown): string[] {
  if (calls === undefined) return [];
  const { perSecond, burst } = membersOf(calls);
  const isRate = typeof perSecond === "number" && perSecond > 0;
  const isBurst = typeof burst === "number" && burst >= 1;
  return isRate && isBurst ? [] : ["calls must have perSecond, above 0, and burst, 1 or more"];
}

const domainMembers = namesOf<FailureDomains>({
  field: true,
  of: true,
  otherwise: true,
  domainOf: true,
});

/** Who leaves out a field that has a default cannot be told from who writes it. */
function domainProblems({ failureDomains, machineSpec }: Written<ProviderDefinition>): string[] {
  if (failureDomains === undefined) return [];
  const { field, of, otherwise, domainOf } = membersOf(failureDomains);
  const { schema } = membersOf(machineSpec);
  const written = membersOf(membersOf(membersOf(schema)["properties"])[String(field)]);
  const required = listOf(membersOf(schema)["required"]);
  const isKnown =
    isJsonObject(schema) && (isOpenSchema(schema) || isOneOf(field, fieldsOf(schema)));
  return [
    ...(typeof field === "string" && isKnown
      ? []
      : ["failureDomains.field must be a field of machineSpec"]),
    ...("default" in written || required.includes(field)
      ? [
          `machineSpec must let Machines leave out ${String(field)}, without a default: failureDomains decides it`,
        ]
      : []),
    ...(typeof of === "function" ? [] : ["failureDomains.of must be a function"]),
    ...functionProblems("failureDomains.domainOf", domainOf),
    ...(otherwise === undefined || typeof otherwise === "string"
      ? []
      : ["failureDomains.otherwise must be a domain"]),
  ];
}

/** Hosts that begin a cluster and join it have to know where. */
function endpointProblems({ userData, apiEndpoint }: Written<ProviderDefinition>): string[] {
  const isAsked = userData !== undefined && membersOf(userData)["simulated"] !== true;
  if (apiEndpoint === undefined ? !isAsked : typeof apiEndpoint === "function") return [];
  return ["apiEndpoint must be a function where userData is given: hosts join there"];
}

function callProblems(at: string, written: unknown): string[] {
  const calls = membersOf(written);
  const missing = (["locate", "create", "remove", "list"] as const)
    .filter((call) => typeof calls[call] !== "function")
    .map((call) => `${at}.${call} must be a function`);
  // It may hold whatever its calls need, so only what looks like a call is one that is misspelt.
  const slips = Object.entries(calls)
    .filter(([member, value]) => typeof value === "function" && !isOneOf(member, callNames))
    .filter(([member]) => nearest(member, absent(calls)) !== undefined)
    .map(([member]) => unknownMember(`${at}.${member}`, member, absent(calls)));
  return [...missing, ...slips];
}

/** Each kind that machines share has calls of its own, and rules like those of hosts. */
function kindProblems({
  kinds,
  infrastructure,
  hostKind,
  machineSpec,
}: Written<ProviderDefinition>): string[] {
  const own = Object.entries(membersOf(kinds)).flatMap(([kind, written]) => {
    const { calls, rules } = membersOf(written);
    return [
      ...callProblems(`kinds.${kind}.calls`, calls),
      ...ruleProblems(`kinds.${kind}.rules`, rules),
    ];
  });
  const stem = String(membersOf(machineSpec)["kind"]).replace(/MachineProviderSpec$/, "");
  const host = typeof hostKind === "string" ? hostKind : `${stem}Host`;
  const twice = membersOf(kinds)[host] === undefined ? [] : [`kinds.${host} is the kind of hosts`];
  return [...own, ...twice, ...functionProblems("infrastructure", infrastructure)];
}

function absent(calls: Members): string[] {
  return callNames.filter((call) => calls[call] === undefined);
}

/** Members that nobody reads, wherever a definition has any that are its own. */
function unknownMembers(definition: Written<ProviderDefinition>): string[] {
  const { machineSpec, clusterSpec, olderVersions } = definition;
  const older: readonly unknown[] = Array.isArray(olderVersions) ? olderVersions : [];
  const offers = membersOf(membersOf(machineSpec)["offers"]);
  const holders: readonly (readonly [string, unknown, readonly string[]])[] = [
    // An instance of a class has members for its own methods.
    ["", isPlain(definition) ? definition : {}, definitionMembers],
    ["machineSpec.", machineSpec, machineSpecMembers],
    ["machineSpec.offers.", offers, ["kubernetes", "containerRuntimes"]],
    ...listOf(offers["containerRuntimes"]).map(
      (runtime, index) =>
        [
          `machineSpec.offers.containerRuntimes[${index}].`,
          runtime,
          ["name", "versions", "recommended"],
        ] as const,
    ),
    ["clusterSpec.", clusterSpec, clusterSpecMembers],
    ["timing.", definition.timing, ["listingLagMs", "longestCallMs", "usableWithinMs"]],
    ["failureDomains.", definition.failureDomains, domainMembers],
    ["calls.", definition.calls, ["perSecond", "burst"]],
    ["lookupInputs.", definition.lookupInputs, ["machine", "cluster", "clusterOnly"]],
    ...Object.entries(membersOf(definition.kinds)).map(
      ([kind, one]) => [`kinds.${kind}.`, one, ["calls", "rules", "keyInputs"]] as const,
    ),
    ["machine.timing.", membersOf(definition.machine)["timing"], ["pollMs"]],
    ...older.flatMap((version, index) => {
      const { machineSpec: machine, clusterSpec: cluster } = membersOf(version);
      const at = `olderVersions[${index}].`;
      return [
        [at, version, olderVersionMembers],
        [`${at}machineSpec.`, machine, ["schema", "convert", "idle"]],
        [`${at}clusterSpec.`, cluster, ["schema", "convert", "idle", "networks"]],
      ] as const;
    }),
  ];
  return holders.flatMap(([at, holder, known]) =>
    Object.keys(membersOf(holder))
      .filter((member) => !known.includes(member))
      .map((member) => unknownMember(`${at}${member}`, member, known)),
  );
}

function offerProblems(written: unknown): string[] {
  const { kubernetes, containerRuntimes } = membersOf(written);
  const isRange = (range: unknown): range is string =>
    typeof range === "string" && semver.validRange(range) !== null;
  const where = "machineSpec.offers";
  return [
    ...(kubernetes === undefined || isRange(kubernetes)
      ? []
      : [`${where}.kubernetes must be a range of versions, e.g. 1.24 - 1.35`]),
    ...listOf(containerRuntimes)
      .map(membersOf)
      .filter(
        ({ versions, recommended }) =>
          !isRange(versions) ||
          typeof recommended !== "string" ||
          !isInRange(recommended, versions),
      )
      .map(
        ({ name }) =>
          `${where}.containerRuntimes: ${String(name)} must have versions, a range, and recommended, one of them`,
      ),
  ];
}

function ignoreProblems(ignores: unknown): string[] {
  return unknownWords("machineSpec.ignores", ignores, ignorableFields);
}

function networkProblems(clusterSpec: unknown): string[] {
  const { networks, schema } = membersOf(clusterSpec);
  if (!isJsonObject(schema) || isOpenSchema(schema)) return [];
  return unknownWords("clusterSpec.networks", networks, fieldsOf(schema));
}

/** What is said about inputs of a host that no host has. Nobody can tell those of an own hostSpec. */
function hostFieldProblems(definition: Written<ProviderDefinition>): string[] {
  const { machine, machineSpec, hostSpec, rules, userData, keyInputs, olderVersions } = definition;
  const { schema } = membersOf(machineSpec);
  if (!isJsonObject(schema)) return ruleProblems("rules", rules);
  const fields = fieldsOf(schema);
  const ownFields = [...nodeFields, ...(userData === undefined ? [] : userDataFieldNames)];
  const taken = hostSpec === undefined ? fields.filter((field) => isOneOf(field, ownFields)) : [];
  const older = listOf(olderVersions).flatMap((version) => {
    const spec = membersOf(membersOf(version)["machineSpec"]);
    return isJsonObject(spec["schema"]) ? fieldsOf(spec["schema"]) : [];
  });
  const isKnown = hostSpec === undefined && !isOpenSchema(schema);
  const known = [...new Set([...hostFieldsOf(schema), ...ownFields, ...older])];
  const unknown = isKnown
    ? [
        ...unknownWords("rules", Object.keys(membersOf(rules)), known),
        ...unknownWords("keyInputs", keyInputs, known),
        ...unknownWords("machine.unobservable", membersOf(machine)["unobservable"], known),
        ...unknownWords("machine.secretInputs", membersOf(machine)["secretInputs"], known),
      ]
    : [];
  return [
    ...taken.map((field) => `machineSpec must call field ${field} otherwise`),
    ...ruleProblems("rules", rules),
    ...(keyInputs === undefined || Array.isArray(keyInputs)
      ? []
      : ["keyInputs must be a list of inputs of a host"]),
    ...unknown,
  ];
}

function ruleProblems(at: string, rules: unknown): string[] {
  return Object.entries(membersOf(rules)).flatMap(([field, rule]): string[] => {
    if (typeof rule === "function") return [];
    const { kind, reason, disruptive } = membersOf(rule);
    if (!isOneOf(kind, changeKinds)) {
      return [`${at}.${field} must be a function, or have a kind: ${changeKinds.join(", ")}`];
    }
    const isTold = disruptive === undefined || typeof disruptive === "string";
    if (!isTold) return [`${at}.${field} must say in words what is disruptive`];
    const hasReason = kind === "inPlace" || typeof reason === "string";
    return hasReason ? [] : [`${at}.${field} must have a reason`];
  });
}

/** The words of a list that are none of those there are. */
function unknownWords(where: string, words: unknown, known: readonly string[]): string[] {
  return listOf(words)
    .filter((word) => !isOneOf(word, known))
    .map((word) => {
      const near = nearest(String(word), known);
      return near === undefined
        ? `${where}: ${String(word)} is none of ${known.join(", ")}`
        : `${where}: there is no ${String(word)}, did you mean ${near}?`;
    });
}

function unknownMember(where: string, member: string, known: readonly string[]): string {
  const near = nearest(member, known);
  const help = near === undefined ? `known: ${known.join(", ")}` : `did you mean ${near}?`;
  return `${where} is unknown, ${help}`;
}

type Members = Readonly<Record<string, unknown>>;

function membersOf(value: unknown): Members {
  return isJsonObject(value) ? value : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isOneOf(word: unknown, known: readonly string[]): boolean {
  return known.some((one) => one === word);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function isSpecDefinition(value: unknown): boolean {
  const { kind, schema } = membersOf(value);
  return typeof kind === "string" && kind !== "" && isJsonObject(schema);
}
