import fc from "fast-check";
import { type CommandOutcome, outcomeText, FakeEngine } from "./fake-engine.js";
import { plainWorld } from "./fake-cloud.js";
import { faults } from "./histories.js";
import { isOpen } from "../../src/records/prior-state.js";
import type { CommandFault } from "./faults.js";
import { cluster, desiredOf, machine } from "./manifests.js";

// Members of etcd that fall ill or die, and an API server that does not answer, while their control plane is changed.

/** A while, in milliseconds since the first command; for ever without an end. */
interface Spell {
  readonly fromMs: number;
  readonly forMs?: number;
}

interface Illness extends Spell {
  readonly member: number;
}

interface EtcdCommand {
  readonly verb: "up" | "rollback" | "destroy";
  readonly faults: readonly CommandFault[];
  /** A member whose host is ended before the command, by its number. */
  readonly dies?: number;
}

export interface EtcdHistory {
  readonly members: number;
  /** `size` makes new hosts, `version` changes those that are there, `first` one of them, `fewer` takes some away. */
  readonly change: "size" | "version" | "first" | "fewer";
  readonly illnesses: readonly Illness[];
  /** When the cluster's own API server does not answer. */
  readonly silences: readonly Spell[];
  readonly commands: readonly EtcdCommand[];
  /** What ends it while it is still as it is, and once all is well; then comes what is wanted. */
  readonly wayOut: EtcdCommand["verb"];
}

const silences: fc.Arbitrary<Spell> = fc.record(
  {
    fromMs: fc.constantFrom(0, 50, 100, 200, 400, 1_000, 5_000),
    forMs: fc.constantFrom(100, 700, 2_000, 10_000),
  },
  { requiredKeys: ["fromMs"] },
);

const verbs = fc.constantFrom<EtcdCommand["verb"][]>("up", "up", "rollback", "destroy");

export const etcdHistories: fc.Arbitrary<EtcdHistory> = fc
  .record({
    members: fc.constantFrom(3, 3, 5),
    change: fc.constantFrom<EtcdHistory["change"][]>("size", "size", "version", "fewer"),
    illnesses: fc.array(
      fc.record(
        {
          member: fc.nat({ max: 4 }),
          fromMs: fc.constantFrom(0, 0, 50, 100, 200, 400, 1_000),
          forMs: fc.constantFrom(100, 700, 2_000),
        },
        { requiredKeys: ["member", "fromMs"] },
      ),
      { minLength: 1, maxLength: 3 },
    ),
    silences: fc.oneof(
      { weight: 2, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(silences, { minLength: 1, maxLength: 2 }) },
    ),
    commands: fc.array(
      fc.record(
        {
          verb: verbs,
          faults: fc.array(faults, { maxLength: 1 }),
          dies: fc.nat({ max: 4 }),
        },
        { requiredKeys: ["verb", "faults"] },
      ),
      { minLength: 1, maxLength: 3 },
    ),
    wayOut: verbs,
  })
  .map((drawn) => ({ ...drawn, commands: withOneDeath(drawn.commands) }));

/** The same of a control plane of which one member is changed where it is, and which nobody takes down. */
export const etcdHistoriesOfOne = etcdHistories.map((drawn): EtcdHistory => ({
  ...drawn,
  change: "first",
  commands: drawn.commands.map((command) => ({ ...command, verb: insteadOfDestroy(command.verb) })),
  wayOut: insteadOfDestroy(drawn.wayOut),
}));

function insteadOfDestroy(verb: EtcdCommand["verb"]): EtcdCommand["verb"] {
  return verb === "destroy" ? "rollback" : verb;
}

/** The others are a majority without it, also of three. */
function withOneDeath(commands: readonly EtcdCommand[]): EtcdCommand[] {
  const first = commands.findIndex(({ dies }) => dies !== undefined);
  return commands.map(({ dies, ...command }, at) =>
    dies === undefined || at !== first ? command : { ...command, dies },
  );
}

export const cpNames = (count: number) => Array.from({ length: count }, (_, at) => `cp-${at}`);

interface MemberFields {
  readonly size?: string;
  readonly version?: string;
}

/** `first`: of the first member alone. */
export function membersOf(count: number, fields: MemberFields = {}, first: MemberFields = fields) {
  return desiredOf([
    cluster(),
    ...cpNames(count).map((name, at) => {
      const { size = "small", version = "1.34.2" } = at === 0 ? first : fields;
      return machine(name, { controlPlane: version, kubelet: version, size });
    }),
  ]);
}

function wantedBy({ members, change }: EtcdHistory) {
  switch (change) {
    case "size":
      return membersOf(members, { size: "large" });
    case "version":
      return membersOf(members, { version: "1.34.3" });
    case "first":
      return membersOf(members, {}, { version: "1.34.3" });
    case "fewer":
      return membersOf(members - 2);
  }
}

/** What laws say of one history, and how its commands ended. */
export interface EtcdCourse {
  readonly violations: readonly string[];
  readonly outcomes: readonly string[];
}

/** No command takes longer here, whatever does not answer: hosts get 4 s, etcd as much, members that are to leave a minute. */
const longestMs = 10 * 60_000;

/** Commands that change a control plane, killed at some places, while members fall ill; at the end all are well. */
export async function courseOf(drawn: EtcdHistory): Promise<EtcdCourse> {
  const engine = await FakeEngine.running(membersOf(drawn.members), {
    traits: { ...plainWorld, joins: true },
  });
  const { hosts, watch } = engine.cloud;
  hosts.needsMajority = true;
  const wanted = wantedBy(drawn);
  const first = engine.hosts();
  const beganMs = engine.clock.now();
  const isNow = ({ fromMs, forMs = Infinity }: Spell) => {
    const sinceMs = engine.clock.now() - beganMs;
    return sinceMs >= fromMs && sinceMs < fromMs + forMs;
  };
  // The hosts that there are now: those that take their places are well.
  hosts.ails = (host) =>
    drawn.illnesses.some((one) => first[one.member]?.who.name === host && isNow(one))
      ? "it is ill"
      : undefined;
  hosts.answers = () => !drawn.silences.some(isNow);
  const outcomes: string[] = [];
  const isAnyDead = drawn.commands.some(({ dies }) => dies !== undefined);
  let callsWhileIdle = 0;
  const run = async ({ verb, faults = [] }: Partial<EtcdCommand>): Promise<CommandOutcome> => {
    const [fromMs, asks] = [engine.clock.now(), hosts.asks];
    const { transaction } = engine.prior;
    if (!isOpen(engine.prior)) callsWhileIdle = engine.calls.length;
    const isOnly = !isOpen(engine.prior) || transaction?.attempts.length === 0;
    const outcome = await (verb === "up" ? engine.up(wanted, faults) : engine[verb!](faults));
    const tookMs = engine.clock.now() - fromMs;
    outcomes.push(`${verb}: ${outcomeText(outcome)}`);
    const isUntouched = isOnly && !isAnyDead && engine.calls.length === callsWhileIdle;
    if (isUntouched && outcome.kind === "stopped" && outcome.result === "incomplete") {
      watch.blame("law 18: etcd", `nothing was touched, and ${verb} takes it back incompletely`);
    }
    if (tookMs > longestMs) watch.blame("law 18: etcd", `${verb} took ${tookMs} ms`);
    if (verb === "destroy" && hosts.asks > asks) {
      watch.blame("law 18: etcd", "a destroy asks the cluster's own API server");
    }
    return outcome;
  };
  for (const command of drawn.commands) {
    const dying = first[command.dies ?? NaN];
    if (dying !== undefined && engine.hosts().some(({ id }) => id === dying.id)) {
      engine.cloud.kill(dying.id);
    }
    await run(command);
  }
  await run({ verb: drawn.wayOut });
  hosts.ails = () => undefined;
  hosts.answers = () => true;
  // A destroy that was killed, or a host that died of two, may have left no majority: nothing but a destroy helps then.
  const wayOut = hosts.hasMajority(engine.hosts()) ? drawn.wayOut : "destroy";
  const out = await run({ verb: wayOut });
  const isRefused = out.kind === "broke" && out.error.code === "NOT_REVERSIBLE";
  if (wayOut !== "up" && !endings.has(out.kind) && !isRefused) {
    watch.blame("law 18: etcd", `etcd is well, and ${wayOut} ends: ${outcomeText(out)}`);
  }
  for (let round = 0; round < 3; round += 1) await run({ verb: "up" });
  for (const name of hosts.deadMembers(engine.hosts())) {
    watch.blame("law 18: etcd", `${name} is gone, and etcd counts on it`);
  }
  return { violations: watch.violations, outcomes };
}

const endings: ReadonlySet<CommandOutcome["kind"]> = new Set(["done", "rolledBack"]);
