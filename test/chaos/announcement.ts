// What a command said that it was about to do, read from its lines of JSON.

/** A plan that somebody could have read before it was carried out. */
export interface Announced {
  readonly steps: readonly { readonly kind: string; readonly key: string }[];
  /** How each step can be taken back. */
  readonly undo: readonly AnnouncedUndo[];
  /** Ids of what is in no record and goes. */
  readonly abandoned: readonly string[];
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
}

export const nothingAnnounced: Announcement = { plans: [], plansBack: [], tookBack: false };

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
  readonly plan?: PlanLine;
}

interface PlanLine {
  readonly steps?: Announced["steps"];
  readonly undo?: readonly AnnouncedUndo[];
  readonly abandoned?: readonly { readonly id: string }[];
}

/** Reads what a command printed with --json; lines that are no JSON say nothing. Pure. */
export function announcementIn(said: string): Announcement {
  const lines = said.split("\n").flatMap(parsed);
  const turn = lines.findIndex(isTurn);
  const isAfter = (index: number) => turn >= 0 && index >= turn;
  const plans = lines.map((line, index) => ({ plan: planIn(line), back: isAfter(index) }));
  const of = (back: boolean) =>
    plans.flatMap((one) => (one.plan !== undefined && one.back === back ? [one.plan] : []));
  return { plans: of(false), plansBack: of(true), tookBack: turn >= 0 };
}

function isTurn({ type, event }: Line): boolean {
  return type === "event" && event === "rollingBack";
}

function planIn(line: Line): Announced | undefined {
  const plan = line.type === "plan" ? (line as PlanLine) : line.plan;
  if (plan === undefined) return undefined;
  const { steps = [], undo = [], abandoned = [] } = plan;
  return { steps, undo, abandoned: abandoned.map(({ id }) => id) };
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
