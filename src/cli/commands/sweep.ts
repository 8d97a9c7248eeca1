import { CapstanError, isCapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { Engine } from "../../engine/pulumi/engine.js";
import {
  toDeleteOf,
  type LeftoverReport,
  type LeftoverOptions,
  findAgain,
  findLeftovers,
} from "../../engine/sweep/leftovers.js";
import type { GoneLeftover } from "../../engine/sweep/gone-leftovers.js";
import { type LeftOver, removeInWaves } from "../../engine/sweep/removal.js";
import { callContext } from "../../engine/run/handler-session.js";
import { timingOf } from "../../provider/timing.js";
import type { KnownCluster } from "../../sweep/clusters.js";
import {
  lostAmong,
  shareOf,
  type SweepItem,
  type SweepKind,
  sweepName,
} from "../../sweep/decide.js";
import { defaultGraceMinutes, isFrozen } from "../../sweep/limits.js";
import {
  type CommandContext,
  type GlobalOptions,
  openEngine,
  withLockedEngine,
} from "../context.js";
import { exitCodes } from "../exit.js";
import {
  consentText,
  frozenText,
  isComplete,
  type SweepReport,
  sweepText,
  sweptText,
} from "../sweep-text.js";

export interface SweepOptions extends GlobalOptions {
  readonly yes?: boolean;
  /** Minutes. */
  readonly grace: number;
  /** Per cent. */
  readonly maxShare: number;
  /** Seconds that a resource may take to go away. */
  readonly timeout: number;
  /** "<namespace>/<name>". */
  readonly lostCluster: readonly string[];
  readonly keptData?: boolean;
}

/**
 * capstan sweep: what clusters of this backend own and none of them wants. Exit 0: nothing, or all of
 * it deleted; 2: something, and it was only shown; 3: something is left, waits for a person's consent, or could not be
 * looked at; 1: nothing was found, but not everything could be looked at; 5: too much was found, or another cloud answers.
 */
export async function sweepCommand(
  options: SweepOptions,
  context: CommandContext,
): Promise<number> {
  const { engine, workspace } = await openEngine(options, context);
  const looking: LeftoverOptions = {
    engine,
    stateDir: context.stateDir,
    backend: workspace.backendKey,
    providers: context.providers.all,
    context: callContext(context.clock, context.interruption.stop),
    graceMs: options.grace * 60_000,
    consent: { lostClusters: options.lostCluster, keptData: options.keptData === true },
  };
  const look = await findLeftovers(looking);
  refuseOthers(options.lostCluster, look);
  const report = reportOf(look, options, context);
  if (context.json) context.emit(sweepDocument(report, options));
  else context.terminal.write(sweepText(report, context.terminal));
  const waits = waitsForConsent(look.items);
  const isNothing = report.share.toDelete === 0;
  if (isNothing && waits.length === 0) return isComplete(look) ? exitCodes.done : exitCodes.failed;
  if (!context.json) context.terminal.write(context.suggest(consentText(waits)));
  if (options.yes !== true) {
    if (!context.json) context.terminal.write(context.suggest(nextText(report, options)));
    return exitCodes.changesPending;
  }
  if (isNothing) return exitCodes.incomplete;
  if (report.frozen) throw frozen(report);
  if (!context.json) context.terminal.write("\n");
  const left = await sweepAll(look, looking, options, context);
  const isAll = left.length === 0 && waits.length === 0 && isComplete(look);
  return isAll ? exitCodes.done : exitCodes.incomplete;
}

/** What only a person can decide about. */
function waitsForConsent(items: readonly SweepItem[]): SweepItem[] {
  return items.filter(({ kind }) => kind === "lost" || kind === "kept");
}

/** Throws NOT_FOUND for a name that is no lost cluster's. */
function refuseOthers(named: readonly string[], { clusters, seen }: LeftoverReport): void {
  const lost = lostAmong(clusters, seen.views).map(({ cluster }) => cluster);
  const wrong = named.find((name) => !lost.includes(name));
  if (wrong === undefined) return;
  throw new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    subject: wrong,
    message: `cannot sweep cluster ${wrong}: it is not lost`,
    hint: `lost clusters: ${lost.length === 0 ? "none" : [...new Set(lost)].join(", ")}; nothing was deleted`,
  });
}

function reportOf(
  look: LeftoverReport,
  { maxShare }: SweepOptions,
  { clock }: CommandContext,
): SweepReport {
  const share = shareOf(look.items);
  const frozen = isFrozen(share, maxShare);
  return { look, share, frozen, maxSharePercent: maxShare, nowMs: clock.now() };
}

/** Deletes cluster by cluster, each under the locks of its stacks and after a fresh look at them. */
async function sweepAll(
  look: LeftoverReport,
  looking: LeftoverOptions,
  options: SweepOptions,
  context: CommandContext,
): Promise<LeftOver[]> {
  const left: LeftOver[] = [];
  let deleted = 0;
  for (const cluster of look.clusters) {
    const first = toDeleteOf(look.items).filter((item) => isOf(cluster, item));
    if (first.length === 0) continue;
    let isLocked = false;
    const sweepOne = async (engines: readonly Engine[]): Promise<void> => {
      isLocked = true;
      const [engine] = engines;
      if (engine === undefined) throw new Error("a cluster has a stack");
      if (engines.some(({ unsettled }) => unsettled)) await letCallsEnd(first, context);
      const about = { clusterUids: new Set([cluster.clusterUid]), locks: "mine" } as const;
      const again = await findAgain(look, { ...looking, engine }, about);
      const toDelete = toDeleteOf(again.items).filter((item) => isOf(cluster, item));
      if (toDelete.length > 0) for (const one of engines) await one.beginWork();
      const assertHeld = async () => {
        for (const one of engines) await one.assertHeld();
      };
      left.push(
        ...(await removeInWaves(toDelete, {
          listedBy: look.seen.listings.map(({ by }) => by),
          context: callContext(context.clock, context.interruption.stop, assertHeld),
          timeoutMs: options.timeout * 1000,
          deleted: (item) => {
            deleted += 1;
            tellDeleted(item, context);
          },
        })),
      );
    };
    await withLocks(cluster.stacks, options, context, sweepOne).catch((error: unknown) => {
      // Once the locks were taken another command has taken this one's place.
      if (isLocked || !isCapstanError(error) || error.code !== "LOCKED") throw error;
      left.push(...first.map((item) => ({ item, reason: error.message })));
    });
  }
  tellResult(deleted, left, context);
  return left;
}

/** The lock was a dead command's. Whoever takes it next would not know, so its last calls end first. */
async function letCallsEnd(
  items: readonly SweepItem[],
  { providers, clock, interruption }: CommandContext,
): Promise<void> {
  const names = new Set(items.map(({ provider }) => provider));
  const calls = providers.all
    .filter(({ name }) => names.has(name))
    .map((provider) => timingOf(provider).longestCallMs);
  await clock.sleep(Math.max(0, ...calls), interruption.stop);
}

function isOf({ clusterUid }: KnownCluster, { resource }: SweepItem): boolean {
  return resource.who.clusterUid === clusterUid;
}

/** Under the locks of several stacks, taken in name order. Throws LOCKED when one is held. */
async function withLocks<T>(
  stacks: readonly string[],
  options: SweepOptions,
  context: CommandContext,
  work: (engines: readonly Engine[]) => Promise<T>,
): Promise<T> {
  const [stack, ...others] = stacks;
  if (stack === undefined) return work([]);
  return withLockedEngine(options, context, { stack, command: "capstan sweep" }, (engine) =>
    withLocks(others, options, context, (engines) => work([engine, ...engines])),
  );
}

function tellDeleted(item: SweepItem, { json, emit, terminal }: CommandContext) {
  const { resource, isSecret } = item;
  const { who, id } = resource;
  const { kind, name } = who;
  const event = omitUndefined({ operation: "delete", state: "done", kind, name, id, isSecret });
  if (json) emit({ type: "event", event: "resource", ...event });
  else terminal.write(`  ${sweepName(item)} (${id}): deleted\n`);
}

function tellResult(
  deleted: number,
  left: readonly LeftOver[],
  { json, emit, terminal }: CommandContext,
) {
  if (json) {
    const document = left.map(({ item, reason }) => ({ ...itemDocument(item), reason }));
    emit({ type: "result", deleted, left: document });
  } else {
    terminal.write(sweptText(deleted, left, terminal.columns));
  }
}

function sweepDocument(report: SweepReport, { yes, grace, maxShare }: SweepOptions) {
  const { look, share, frozen } = report;
  const { items, byControllers, notListed, unreadable } = look;
  const count = (kind: SweepKind) => items.filter((item) => item.kind === kind).length;
  return omitUndefined({
    type: "sweep",
    dryRun: yes !== true,
    graceMinutes: grace,
    maxSharePercent: maxShare,
    doomed: share.toDelete,
    owned: share.owned,
    frozen,
    wanted: count("wanted"),
    foreign: count("foreign"),
    items: items
      .filter(({ kind }) => kind !== "wanted" && kind !== "foreign")
      .map((item) => ({ decision: item.kind, ...itemDocument(item), reason: item.reason })),
    byControllers: byControllers.length > 0 ? byControllers.map(controllersDocument) : undefined,
    unreadable,
    notListed,
  });
}

function itemDocument({ provider, resource: { id, who, createdAtMs }, isSecret }: SweepItem) {
  const { cluster, clusterUid, kind, name } = who;
  return omitUndefined({ provider, cluster, clusterUid, kind, name, id, createdAtMs, isSecret });
}

function controllersDocument({ provider, cluster, leftover }: GoneLeftover) {
  const { kind, id, name, by, about, holdsData, doubt } = leftover;
  return omitUndefined({ provider, cluster, kind, id, name, by, about, holdsData, doubt });
}

/** The command that goes on from here. */
function nextText(report: SweepReport, { grace, lostCluster, keptData }: SweepOptions): string {
  if (report.share.toDelete === 0) return "Nothing was changed.\n";
  const options = [
    ...(grace === defaultGraceMinutes ? [] : [`--grace ${grace}`]),
    ...lostCluster.map((name) => `--lost-cluster ${name}`),
    ...(keptData === true ? ["--kept-data"] : []),
  ];
  const next = ["capstan sweep --yes", ...options].join(" ");
  if (!report.frozen) return `Nothing was changed. Next: ${next}\n`;
  return `Nothing was changed: ${frozenText(report)}.\nIf they are leftovers: ${next} --max-share ${percentOf(report)}\n`;
}

function frozen(report: SweepReport): CapstanError {
  return new CapstanError({
    code: "FROZEN",
    source: "user",
    message: `cannot sweep: ${frozenText(report)}; nothing was deleted`,
    hint: `look whether capstan status lists every stack; if they are leftovers, add --max-share ${percentOf(report)}`,
  });
}

/** The share that allows what was found, in whole per cent. */
function percentOf({ share: { toDelete, owned } }: SweepReport): number {
  return Math.ceil((toDelete * 100) / owned);
}
