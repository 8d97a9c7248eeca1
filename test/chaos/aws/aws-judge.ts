import type { Deployment, ExportedResource, Judgement } from "../../scenario/ledger-judge.js";
import type { ChaosTarget } from "../targets.js";
import {
  type AccountTables,
  type AccountRow,
  kindsOfTables,
  type Living,
  livingIn,
  machineOf,
  marksOf,
} from "./account.js";
import { linesOf } from "./account-text.js";
import { wantedLines } from "./wanted-account.js";

// The judge of an account. He reads what the simulator and Pulumi tell, and imports nothing of ours.

/** What is there at the end of a point, and what was there before the first command. */
export interface AccountFindings {
  readonly surroundings: AccountTables;
  readonly account: AccountTables;
  readonly deployment: Deployment;
  /** Namespace and name of the cluster. */
  readonly cluster: string;
  /** How the types of what is recorded begin. */
  readonly types?: string;
}

const dynamicType = "pulumi-nodejs:dynamic/capstan:";

/**
 * Holds an account against the exported state of the one stack in it. Orphans live, are in no state, were not there before and do not
 * belong to something recorded; so does each secret, which no state has and which is to be gone once its host is a node.
 * Whatever was there before has to be as it was. Pure.
 */
export function judgeAccount({
  surroundings,
  account,
  deployment,
  cluster,
  types = dynamicType,
}: AccountFindings): Judgement {
  const recorded = recordedIn(deployment, types);
  const recordedIds = new Set(recorded.map(({ id = "" }) => plainId(id)));
  const before = new Set(livingIn(surroundings).map(({ row }) => row.id));
  const living = livingIn(account);
  const news = living.filter(({ row }) => !before.has(row.id));
  const ids = new Set(news.map(({ row }) => plainId(row.id)));
  return {
    orphans: news
      .filter(({ row }) => !recordedIds.has(plainId(row.id)))
      .filter((one) => !belongs(one, recordedIds, account))
      .map(({ table, row }) => `${table} ${row.id} ${marksOf(row).name}`),
    duplicates: duplicatesAmong(news, cluster),
    missing: recorded.filter(({ id = "" }) => !ids.has(plainId(id))).map(({ urn }) => urn),
    wrongContent: changedNeighbours(surroundings, account),
    pending: [
      ...(deployment.pending_operations ?? []).map(({ type }) => type),
      ...recorded.filter((one) => one.delete === true).map(({ urn }) => `owed: ${urn}`),
    ],
  };
}

/** What manifests ask for and is not there, and what is there and nobody asks for. Pure. */
export function judgeAccountWanted(
  account: AccountTables,
  cluster: string,
  target: ChaosTarget,
): string[] {
  const is = linesOf(account, cluster);
  const wanted = target === undefined ? [] : wantedLines(target);
  return [
    ...without(wanted, is).map((line) => `is not there: ${line}`),
    ...without(is, wanted).map((line) => `nobody wants: ${line}`),
  ];
}

/** These without those, each as often as it stands in them. */
function without(these: readonly string[], those: readonly string[]): string[] {
  const left = [...those];
  return these.filter((line) => {
    const index = left.indexOf(line);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}

function recordedIn({ resources = [] }: Deployment, types: string): ExportedResource[] {
  return resources.filter(
    ({ type }) => type.startsWith(types) && !/:(Transaction|Revision)$/.test(type),
  );
}

/** A target has its group, its instance and its port for an id, which states write in a row of their own. */
function plainId(id: string): string {
  return id.replace("|", " ");
}

/** Whether AWS has made it with something that is recorded, and takes it away with that. */
function belongs(
  { table, row }: Living,
  recorded: ReadonlySet<string>,
  account: AccountTables,
): boolean {
  switch (table) {
    case "routeTables":
      return isMain(row) && recorded.has(String(row["vpcId"]));
    case "groups":
      return row["name"] === "default" && recorded.has(String(row["vpcId"]));
    case "rules":
      return marksOf(row).token === "" && groupIsOurs(row, recorded, account);
    case "interfaces":
      return recorded.has(attachedTo(row)) || madeByAws(row, recorded, account);
    case "volumes":
      return isRoot(row) && recorded.has(attachedTo(row));
    default:
      return false;
  }
}

function isMain({ associations }: AccountRow): boolean {
  return (associations as readonly AccountRow[]).some(({ subnetId }) => subnetId === undefined);
}

/** The rules that a group is made with, and those of a VPC's own group. */
function groupIsOurs(
  { groupId, isEgress }: AccountRow,
  recorded: ReadonlySet<string>,
  { groups = [] }: AccountTables,
): boolean {
  const group = groups.find(({ id }) => id === groupId);
  if (group === undefined) return false;
  if (group["name"] === "default") return recorded.has(String(group["vpcId"]));
  return isEgress === true && recorded.has(group.id);
}

function attachedTo({ attachment }: AccountRow): string {
  const { instanceId = "" } = (attachment ?? {}) as { readonly instanceId?: string };
  return instanceId;
}

function isRoot({ attachment }: AccountRow): boolean {
  const { deleteOnTermination } = (attachment ?? {}) as { readonly deleteOnTermination?: boolean };
  return deleteOnTermination === true;
}

/** Interfaces of a gateway or a load balancer that is recorded. */
function madeByAws(
  { id, requester, description }: AccountRow,
  recorded: ReadonlySet<string>,
  { natGateways = [] }: AccountTables,
): boolean {
  if (requester === "amazon-nat") {
    return natGateways.some((one) => one["interfaceId"] === id && recorded.has(one.id));
  }
  const balancer = String(description).replace(/^ELB /, "loadbalancer/");
  return requester === "amazon-elb" && [...recorded].some((one) => one.endsWith(balancer));
}

/** Two of one kind under one name, and two under one token. */
function duplicatesAmong(living: readonly Living[], cluster: string): string[] {
  const seen = new Set<string>();
  return living
    .filter(({ table, row }) => marksOf(row).cluster === cluster && table !== "secrets")
    .flatMap(({ table, row }) => {
      const { name, token } = marksOf(row);
      const kind = kindsOfTables[table] ?? table;
      const machine = kind === "AwsInstance" ? [`instance of ${machineOf(name)}`] : [];
      return [`${kind} ${name}`, `token ${token}`, ...machine];
    })
    .filter((mark) => seen.has(mark) || !seen.add(mark));
}

/** Rows of before that are gone or otherwise; what comes to pass by itself was over when they were written down. */
function changedNeighbours(surroundings: AccountTables, account: AccountTables): string[] {
  return Object.entries(surroundings)
    .filter(([table]) => table !== "timers" && table !== "tokens")
    .flatMap(([table, rows]) => {
      const now = new Map((account[table] ?? []).map((row) => [row.id, JSON.stringify(row)]));
      return rows
        .filter((row) => now.get(row.id) !== JSON.stringify(row))
        .map(
          ({ id }) => `somebody else's ${table} ${id} ${now.has(id) ? "has changed" : "is gone"}`,
        );
    });
}
