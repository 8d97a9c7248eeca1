import fc from "fast-check";
import { keyOf } from "../../src/graph/graph.js";
import { cloudResources } from "../../src/records/prior-state.js";
import type { InfrastructureProvider, ResourceHandler } from "../../src/provider/port.js";
import { desiredCluster, smallClusters, type WantedCluster } from "./wanted-cluster.js";
import { type HistoryCommand, faults, traits } from "./histories.js";
import { localProvider } from "./manifests.js";
import { FakeCloud, timing, type WorldTraits } from "./fake-cloud.js";
import { type CommandTools, type CommandOutcome, outcomeText, FakeEngine } from "./fake-engine.js";

/** Whose credentials a command has at first, and at which of its questions it gets the others. */
export interface Credentials {
  readonly isElsewhere: boolean;
  /** Counts listings and questions which cloud it is, from 0. */
  readonly switchAt?: number;
}

/** Commands under credentials of one cloud or the other, with whatever goes wrong in them. JSON data. */
export interface SwitchedHistory {
  readonly traits: WorldTraits;
  readonly before?: WantedCluster;
  readonly commands: readonly (Pick<HistoryCommand, "verb" | "wanted" | "faults"> & Credentials)[];
  readonly after: WantedCluster;
}

export const switchedHistories: fc.Arbitrary<SwitchedHistory> = fc.record(
  {
    traits,
    before: smallClusters,
    commands: fc.array(
      fc.record(
        {
          verb: fc.constantFrom("up" as const, "up" as const, "rollback" as const),
          wanted: smallClusters,
          faults: fc.array(faults, { maxLength: 2 }),
          isElsewhere: fc.boolean(),
          switchAt: fc.nat({ max: 24 }),
        },
        { requiredKeys: ["verb", "wanted", "faults", "isElsewhere"] },
      ),
      { minLength: 1, maxLength: 4 },
    ),
    after: smallClusters,
  },
  { requiredKeys: ["traits", "commands", "after"] },
);

export interface SwitchedSetup {
  /** Makes the provider of each command worse than it is. */
  readonly spoil?: (provider: InfrastructureProvider) => InfrastructureProvider;
  readonly trace?: (line: string) => void;
}

/**
 * Law 12. Lets a history happen on two clouds of which one is recorded; returns what was done, or said, about
 * the other one, and what is not sound at the end under the right credentials.
 */
export async function breachesOfSwitched(
  history: SwitchedHistory,
  setup: SwitchedSetup = {},
): Promise<string[]> {
  const world = new TwoClouds(history.traits, setup);
  if (history.before !== undefined) await world.mustSucceed(history.before);
  for (const command of history.commands) await world.run(command);
  await world.mustSucceed(history.after);
  return world.breaches();
}

type Side = "here" | "there";

class TwoClouds {
  private readonly found: string[] = [];
  private readonly engine: FakeEngine;
  private readonly there: FakeCloud;
  private side: Side = "here";
  private questions = 0;
  private switchAt: number | undefined;

  constructor(
    traits: WorldTraits,
    private readonly setup: SwitchedSetup,
  ) {
    this.engine = new FakeEngine({
      traits: { ...traits, name: "here" },
      sabotage: (means) => this.switching(means),
    });
    this.there = new FakeCloud(localProvider(), this.engine.clock, { ...traits, name: "there" });
  }

  async run({
    verb,
    wanted,
    faults: during,
    isElsewhere,
    switchAt,
  }: SwitchedHistory["commands"][number]): Promise<CommandOutcome> {
    const { engine } = this;
    engine.clock.advance(timing.listingLagMs);
    this.side = isElsewhere ? "there" : "here";
    [this.questions, this.switchAt] = [0, switchAt];
    const outcome = await (verb === "up"
      ? engine.up(desiredCluster(wanted), during)
      : engine.rollback(during));
    this.setup.trace?.(`${verb} ${this.side} -> ${outcomeText(outcome)}`);
    if (outcome.kind === "done" || outcome.kind === "rolledBack") this.mustBeTrue(outcome);
    return outcome;
  }

  /** Undisturbed and under the right credentials everything that is asked for is done. */
  async mustSucceed(wanted: WantedCluster): Promise<void> {
    const isElsewhere = this.recordedSide === "there";
    const quiet = { verb: "up", faults: [], isElsewhere } as const;
    const { transaction } = this.engine.prior;
    const outcome = await this.run({ ...quiet, wanted });
    if (outcome.kind === "done") return;
    // Past a point of no return, or toward an older control plane, the way is another one.
    const codes = ["NOT_REVERSIBLE", "UNSUPPORTED_CHANGE"];
    if (outcome.kind === "broke" && codes.includes(outcome.error.code) && transaction) return;
    this.found.push(`law 12: an undisturbed up ended: ${outcomeText(outcome)}`);
  }

  breaches(): string[] {
    const other = this.recordedSide === "there" ? this.engine.cloud : this.there;
    const ours = other.alive().filter(({ who }) => who.cluster === this.clusterName);
    const left = ours.map(({ id }) => `law 12: ${id} is left in the cloud that nobody recorded`);
    return [...new Set([...this.found, ...left])];
  }

  private get clusterName(): string {
    return this.engine.prior.transaction?.target.cluster ?? "";
  }

  private get recordedSide(): Side | undefined {
    return this.engine.prior.transaction?.cloud?.["account"] as Side | undefined;
  }

  private cloudOf(side: Side): FakeCloud {
    return side === "here" ? this.engine.cloud : this.there;
  }

  /** What a command says to have reached is so in the cloud that is recorded. */
  private mustBeTrue({ kind }: CommandOutcome): void {
    const { prior } = this.engine;
    const cloud = this.cloudOf(this.recordedSide ?? "here");
    for (const { key, id = "" } of cloudResources(prior)) {
      const seen = cloud.get(id);
      if (seen === undefined || seen.phase === "gone") {
        this.found.push(`law 12: ${kind} is said, and ${key} is not in the recorded cloud`);
      }
    }
    const recorded = new Set(cloudResources(prior).map(({ id }) => id));
    const wanted = new Set(prior.revision?.target.nodes.map(keyOf));
    const uid = prior.transaction?.clusterUid;
    for (const { id, who } of cloud.alive()) {
      if (who.clusterUid !== uid || recorded.has(id) || wanted.size === 0) continue;
      this.found.push(`law 12: ${kind} is said, and ${id} of the recorded cloud is forgotten`);
    }
  }

  /** The means of a command whose provider talks to whichever cloud the credentials of the moment lead to. */
  private switching({ provider: here, engine }: CommandTools): CommandTools {
    const there = this.there.providerFor(this.engine.lastProcess);
    const now = () => (this.side === "here" ? here : there);
    const asked = (): InfrastructureProvider => {
      if (this.questions === this.switchAt) this.side = this.side === "here" ? "there" : "here";
      this.questions += 1;
      return now();
    };
    const handlers = [...here.handlers.keys()].map((kind): [string, ResourceHandler] => {
      const calls = () => now().handlers.get(kind)!;
      const changes = (call: string, name: string) => {
        const { recordedSide, side } = this;
        if (recordedSide === undefined || recordedSide === side) return;
        this.found.push(`law 12: ${call} of ${name} ${side}, which is recorded ${recordedSide}`);
      };
      return [
        kind,
        {
          locate: (ctx, who, id) => calls().locate(ctx, who, id),
          poll: async (ctx, operation) =>
            (await calls().poll?.(ctx, operation)) ?? { state: "done" },
          create: (ctx, who, spec) => {
            changes("create", who.name);
            return calls().create(ctx, who, spec);
          },
          update: (ctx, current, spec) => {
            changes("update", current.who.name);
            return calls().update?.(ctx, current, spec) ?? Promise.resolve(current);
          },
          remove: (ctx, current) => {
            changes("remove", current.who.name);
            return calls().remove(ctx, current);
          },
          disown: async (ctx, current) => {
            changes("disown", current.who.name);
            await calls().disown?.(ctx, current);
          },
        },
      ];
    });
    const provider: InfrastructureProvider = {
      ...here,
      handlers: new Map(handlers),
      inventory: (ctx, scope) => asked().inventory(ctx, scope),
      identity: async (ctx) => (await asked().identity?.(ctx)) ?? {},
    };
    return { engine, provider: this.setup.spoil?.(provider) ?? provider };
  }
}
