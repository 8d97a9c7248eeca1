import type { LedgerRow } from "../scenario/ledger-judge.js";
import {
  type Announced,
  type AnnouncedUndo,
  type Announcement,
  hasStep,
  planLetsGo,
} from "./announcement.js";
import { hostCountProblems, type SetBounds } from "./host-counts.js";

// The laws that the final picture cannot show. They are read from the cloud's ledger and from what the
// commands announced, and this imports nothing of the product.

/** One command of a point, with its part of the ledger: entries after `from` up to `to`. */
export interface Typed extends Announcement {
  readonly words: string;
  /** Where it leads: to manifests or a revision, back from what is open, to nothing at all, or to other records of the same hosts. */
  readonly leads: "forward" | "back" | "away" | "records";
  /** One pass does it all, so that what is new comes before anything goes, whatever bounds say. */
  readonly inline?: true;
  readonly from: number;
  readonly to: number;
}

/** All that happened at one point. */
export interface Course {
  /** Namespace and name of the cluster that all this is about. */
  readonly cluster: string;
  /** What hosts are called in the ledger. */
  readonly hostKind: string;
  /** From the cloud's first entry on, of all clusters. */
  readonly ledger: readonly LedgerRow[];
  /** Ids of hosts that are, or were, members of a control plane. */
  readonly members: ReadonlySet<string>;
  /** What the manifests say of how machines that stand in for one another come and go. */
  readonly sets: readonly SetBounds[];
  /** The first is the one that met the fault. */
  readonly typed: readonly Typed[];
}

/** What breaks one of the laws, one thing a line; none: nothing does. Pure. */
export function lawProblems(course: Course): string[] {
  const ends = terminations(course);
  return [
    ...unannounced(ends),
    ...unrestored(course, ends),
    ...lostMembers(course, ends),
    ...changedBesideRecords(course),
    ...hostCountProblems(course),
  ];
}

/** A healthy host of ours that a command terminated. */
interface Termination {
  readonly entry: LedgerRow;
  readonly key: string;
  readonly by: Typed;
  /** It was there before the point began. */
  readonly isOld: boolean;
  /** A plan that was accepted names the creation that made it: that it can go again is what undo means. */
  readonly isMadeHere: boolean;
  /** The command's own accepted plans let it go. */
  readonly isNamed: boolean;
  /** A plan of the point says that it is made anew where its change is taken back. */
  readonly isCompensable: boolean;
}

function terminations(course: Course): Termination[] {
  const begin = course.typed[0]?.from ?? 0;
  const old = hostsAt(course, begin);
  return course.typed.flatMap((by, index) => {
    const upToNow = course.typed.slice(0, index + 1);
    const plans = upToNow.flatMap((one) => one.plans);
    // What a rollback's own plan says is about taking the rollback back.
    const undo = (by.leads === "back" ? upToNow.slice(0, -1) : upToNow).flatMap(undoIn);
    return entriesOf(course, by)
      .filter((entry) => isTermination(entry, course))
      .map((entry): Termination => {
        const key = `${entry.kind}/${entry.name}`;
        return {
          entry,
          key,
          by,
          isOld: old.has(entry.id ?? ""),
          isMadeHere: plans.some((plan) => hasStep(plan, "create", key)),
          isNamed: letsGo(by, by.plans, key, entry.id),
          // What was to be deleted, and was not, is no reason for a rollback to do so.
          isCompensable: undo.some(
            (one) => one.key === key && one.class === "compensable" && one.step !== "delete",
          ),
        };
      });
  });
}

/** Whether a command that was to lead elsewhere took itself back. A rollback says that it does, too. */
function turnsBack({ leads, tookBack }: Typed): boolean {
  return tookBack && leads !== "back";
}

function undoIn({ plans }: Typed): AnnouncedUndo[] {
  return plans.flatMap(({ undo }) => undo);
}

/** No healthy host goes that nobody was told of. */
function unannounced(ends: readonly Termination[]): string[] {
  return ends
    .filter(({ isNamed, isOld, isMadeHere }) => !isNamed && (isOld || !isMadeHere))
    .filter(({ by, key, entry, isCompensable }) => {
      const isToldBack = letsGo(by, by.plansBack, key, entry.id);
      return !(turnsBack(by) && (isCompensable || isToldBack));
    })
    .map(({ by, entry }) => `"${by.words}" terminates ${entry.name}, which no plan of its names`);
}

/** Taking something back lets go only what was not there before, or was changed by what it takes back. */
function unrestored(course: Course, ends: readonly Termination[]): string[] {
  return (
    ends
      .filter(({ by, isOld }) => isOld && (by.leads === "back" || turnsBack(by)))
      // A host that makes room goes by the plan itself, before anything is taken back.
      .filter(({ by, isNamed }) => !(turnsBack(by) && isNamed))
      .filter(({ isCompensable }) => !isCompensable)
      .filter(({ by, entry }) => !isChangedBefore(course, by, entry))
      .map(
        ({ by, entry }) =>
          `"${by.words}" takes back and loses ${entry.name}, which was there before`,
      )
  );
}

/** No member of the control plane goes by a recovery unless an accepted plan showed it. */
function lostMembers(course: Course, ends: readonly Termination[]): string[] {
  return ends
    .filter(({ entry }) => course.members.has(entry.id ?? ""))
    .filter(({ by }) => turnsBack(by) || course.typed.indexOf(by) > 0)
    .filter(({ isNamed, isCompensable, isOld, isMadeHere }) => {
      return !isNamed && !isCompensable && (isOld || !isMadeHere);
    })
    .map(({ by, entry }) => `"${by.words}" loses ${entry.name}, a member of the control plane`);
}

/** A request that changes records and ownership tags alone creates, updates and terminates no resource of any cluster. */
function changedBesideRecords({ ledger, typed }: Course): string[] {
  return typed
    .filter(({ leads }) => leads === "records")
    .flatMap(({ words, from, to }) =>
      ledger
        .filter(({ seq, effect }) => seq > from && seq <= to && changing.has(effect))
        .map(({ call, name }) => `"${words}" did ${call} ${name}, and changes records alone`),
    );
}

const changing: ReadonlySet<string> = new Set(["created", "updated", "terminated"]);

/** A destroy without a plan says that everything goes. */
function letsGo(by: Typed, plans: readonly Announced[], key: string, id: string | null): boolean {
  if (by.leads === "away" && by.plans.length === 0) return true;
  return plans.some((plan) => planLetsGo(plan, key, id));
}

/** Whether what is taken back had changed the host: what a rollback itself does to it is no reason. */
function isChangedBefore(course: Course, by: Typed, { id, seq }: LedgerRow): boolean {
  const begin = course.typed[0]?.from ?? 0;
  const until = turnsBack(by) ? seq : by.from;
  return course.ledger.some(
    (entry) =>
      entry.id === id && entry.effect === "updated" && entry.seq > begin && entry.seq <= until,
  );
}

/**
 * The steps of accepted plans that cannot be taken back and that the ledger shows done: from then on
 * there is only forward. Each once, as "update LocalHost/cp-0-...". Pure.
 */
export function pastNoReturn({ cluster, ledger, typed }: Course): string[] {
  const effects = new Map([
    ["create", "created"],
    ["update", "updated"],
  ]);
  const isDone = ({ key, step }: AnnouncedUndo, { from, to }: Typed) =>
    ledger
      .filter((entry) => entry.cluster === cluster && `${entry.kind}/${entry.name}` === key)
      .some(({ effect, seq }) => effect === effects.get(step) && seq > from && seq <= to);
  const passed = typed.flatMap((one) =>
    undoIn(one)
      .filter((undo) => undo.class === "pointOfNoReturn" && isDone(undo, one))
      .map(({ key, step }) => `${step} ${key}`),
  );
  return [...new Set(passed)];
}

/**
 * What was changed by a command of which nothing is recorded. One that has taken back all that it made had
 * recorded it, and has erased its records since. Pure.
 */
export function changesBeforeBegin(course: Course, typed: Typed): string[] {
  const entries = entriesOf(course, typed);
  const idsOf = (effect: LedgerRow["effect"]) =>
    new Set(entries.filter((entry) => entry.effect === effect).map(({ id }) => id));
  const [made, removed] = [idsOf("created"), idsOf("terminated")];
  if (made.size > 0 && [...made].every((id) => removed.has(id))) return [];
  return entries
    .filter(({ effect }) => changing.has(effect))
    .map(({ call, name }) => `"${typed.words}" did ${call} ${name} before it was begun`);
}

function entriesOf({ ledger, cluster }: Course, { from, to }: Typed): LedgerRow[] {
  return ledger.filter((entry) => entry.cluster === cluster && entry.seq > from && entry.seq <= to);
}

/** A host that ends by itself, or that is gone already, is not terminated by anybody. */
function isTermination({ kind, call, effect }: LedgerRow, { hostKind }: Course): boolean {
  return kind === hostKind && call === "terminate" && effect === "terminated";
}

/** Ids of the hosts that were alive after an entry of the ledger. */
function hostsAt({ ledger, cluster, hostKind }: Course, seq: number): ReadonlySet<string> {
  const alive = new Set<string>();
  for (const { id, kind, effect, seq: at, cluster: whose } of ledger) {
    if (at > seq || kind !== hostKind || whose !== cluster || id === null) continue;
    if (effect === "created") alive.add(id);
    if (effect === "terminated") alive.delete(id);
  }
  return alive;
}
