// What a command said that it was about to do, read from its lines of JSON.

/** A plan that somebody could have read before it was carried out. */
export interface Announced {
  readonly steps: readonly { readonly kind: string; readonly key: string }[];
  /** How each step can be taken back. */
  readonly undo: readonly AnnouncedUndo[];
  /** Ids of what is in no record and goes. */
  readonly abandoned: readonly string[];
  /** What becomes of each Machine. */
  readonly machines: readonly AnnouncedMachine[];
  /** The keys of what changes together, before anything of the next. */
  readonly waves: readonly (readonly string[])[];
  /** It ends with nothing at all, so that nobody is promised anything. */
  readonly endsService: boolean;
}

export interface AnnouncedMachine {
  readonly machine: string;
  readonly controlPlane: boolean;
  /** What is left of it: "delete" and "forget" leave nothing. */
  readonly kind: string;
}

export interface AnnouncedUndo {
  readonly key: string;
  readonly step: string;
  readonly class: string;
}

/** All that one command said about its plans. */
export interface Announcement {
  /** In the order in which they were shown and accepted. */
  readonly plans: readonly Announced[];
  /** Of the rollback that it went over to by itself, as far as it told them; nobody was asked. */
  readonly plansBack: readonly Announced[];
  /** It took back what it had begun. */
  readonly tookBack: boolean;
  /** It said that a revision is committed: from then on people rely on what there is. */
  readonly committed: boolean;
  /** Names of what it began to make after that, in another transaction: on those nobody relies yet. */
  readonly madeSince: readonly string[];
}

export const nothingAnnounced: Announcement = {
  plans: [],
  plansBack: [],
  tookBack: false,
  committed: false,
  madeSince: [],
};

/** One that does nothing at all. */
export const emptyPlan: Announced = {
  steps: [],
  undo: [],
  abandoned: [],
  machines: [],
  waves: [],
  endsService: false,
};

/** What a command said at last: its errors and results, and whatever is no JSON. Pure. */
export function lastWords(said: string): string {
  const telling = said.split("\n").filter((text) => {
    const [line] = parsed(text);
    return line === undefined || line.type === "error" || line.type === "result";
  });
  return telling.join("\n").trim();
}

interface Line {
  readonly type?: string;
  readonly event?: string;
  /** Of an event about a resource. */
  readonly operation?: string;
  readonly name?: string;
  readonly plan?: PlanLine;
}

interface PlanLine {
  readonly steps?: Announced["steps"];
  readonly undo?: readonly AnnouncedUndo[];
  readonly abandoned?: readonly { readonly id: string }[];
  readonly machines?: readonly AnnouncedMachine[];
  readonly waves?: readonly { readonly keys: readonly string[] }[];
  readonly fromRevision?: number;
  readonly transaction?: { readonly goal?: string };
}

/** Reads what a command printed with --json; lines that are no JSON say nothing. Pure. */
export function announcementIn(said: string): Announcement {
  const lines = said.split("\n").flatMap(parsed);
  const turn = lines.findIndex(isTurn);
  const isAfter = (index: number) => turn >= 0 && index >= turn;
  const plans = lines.map((line, index) => ({ plan: planIn(line), back: isAfter(index) }));
  const of = (back: boolean) =>
    plans.flatMap((one) => (one.plan !== undefined && one.back === back ? [one.plan] : []));
  const lastCommit = lines.findLastIndex(isCommit);
  const committed = lastCommit >= 0;
  const madeSince = lines
    .slice(lastCommit + 1)
    .flatMap(({ operation, name }) => (operation === "create" && name !== undefined ? [name] : []));
  return { plans: of(false), plansBack: of(true), tookBack: turn >= 0, committed, madeSince };
}

function isCommit({ type, event }: Line): boolean {
  return type === "event" && event === "committed";
}

function isTurn({ type, event }: Line): boolean {
  return type === "event" && event === "rollingBack";
}

function planIn(line: Line): Announced | undefined {
  const plan = line.type === "plan" ? (line as PlanLine) : line.plan;
  if (plan === undefined) return undefined;
  const { steps = [], undo = [], abandoned = [], machines = [], waves = [] } = plan;
  const goal = plan.transaction?.goal;
  return {
    steps,
    undo,
    abandoned: abandoned.map(({ id }) => id),
    machines: machines.map(({ machine, controlPlane, kind }) => ({ machine, controlPlane, kind })),
    waves: waves.map(({ keys }) => keys),
    endsService: goal === "destroy" || (goal === "takeBack" && plan.fromRevision === 0),
  };
}

function parsed(text: string): Line[] {
  if (!text.startsWith("{")) return [];
  try {
    return [JSON.parse(text) as Line];
  } catch {
    // Whoever was killed in the middle of a line has not said it.
    return [];
  }
}

export function hasStep({ steps }: Announced, kind: string, key: string): boolean {
  return steps.some((step) => step.kind === kind && step.key === key);
}

/** Whether a plan says that a resource goes, by its record or, where it has none, by its id. */
export function planLetsGo(plan: Announced, key: string, id: string | null): boolean {
  return hasStep(plan, "delete", key) || (id !== null && plan.abandoned.includes(id));
}
