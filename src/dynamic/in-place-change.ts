import type { JsonObject } from "../api/json.js";
import type { CallContext, Observed, ResourceHandler } from "../provider/port.js";
import type { Patience } from "./patience.js";
import { refusedLater, unsupportedChange } from "./resource-refusals.js";

/** What a change does in the course of its resource, which knows more of it. */
interface Surroundings {
  readonly context: CallContext;
  readonly patience: Patience;
  /** Whether a resource has such a spec, or an alternative of it. */
  readonly isAs: (resource: Observed, spec: JsonObject) => boolean;
  /** As the cloud shows it now, if it is ours. Throws RESOURCE_GONE and NOT_OURS. */
  readonly present: (resource: Pick<Observed, "who" | "id" | "spec">) => Promise<Observed>;
  /** With what the cloud cannot show as it was asked for. */
  readonly known: (resource: Observed, spec: JsonObject) => Observed;
  /** Tells what a change waits for. */
  readonly waits: (name: string, error: unknown) => void;
}

/** Changes one resource where it is. Source: docs/adr/0056, docs/adr/0061. */
export class InPlaceChange {
  constructor(
    private readonly kind: string,
    private readonly handler: Pick<ResourceHandler, "update" | "start" | "poll">,
    private readonly around: Surroundings,
  ) {}

  /** Changes what differs, and starts what is stopped then. What cannot be started by itself is changed until it runs. */
  async run(current: Observed, spec: JsonObject): Promise<Observed> {
    const deadline = this.around.patience.deadline();
    const changed = await this.carryOut(current, spec, deadline);
    return this.isStart(changed, spec) ? this.carryOut(changed, spec, deadline) : changed;
  }

  private isStart(from: Observed, spec: JsonObject): boolean {
    return (
      this.handler.start !== undefined && from.phase === "stopped" && this.around.isAs(from, spec)
    );
  }

  private async carryOut(from: Observed, spec: JsonObject, deadline: number): Promise<Observed> {
    const { patience, present, known, waits } = this.around;
    let latest: Observed | undefined = from;
    const attempt = async () => {
      // What an attempt that failed has done shows in the cloud alone.
      const seen = latest ?? (await present(from));
      latest = undefined;
      return this.change(seen, spec);
    };
    const { name } = from.who;
    const changed = await patience.changing(deadline, attempt, (error) => waits(name, error));
    return known(await this.carriedOut(changed, deadline), spec);
  }

  private async change(from: Observed, spec: JsonObject): Promise<Observed> {
    const { handler, around } = this;
    if (this.isStart(from, spec)) return handler.start?.(around.context, from) ?? from;
    if (handler.update === undefined) throw unsupportedChange(this.kind, from, "no update");
    return handler.update(around.context, from, spec);
  }

  /** As it is once the cloud has done what it has accepted. Throws what that failed with. */
  private async carriedOut(accepted: Observed, deadline: number): Promise<Observed> {
    const { handler, kind } = this;
    const { context, patience, present } = this.around;
    const { id, who, operation } = accepted;
    if (handler.poll === undefined || operation === undefined) return accepted;
    for (let looks = 1; ; looks += 1) {
      const outcome = await patience.asking(async () => handler.poll?.(context, operation));
      if (outcome?.state === "failed") throw refusedLater("change", kind, who, outcome.failure);
      if (outcome?.state !== "running") return present({ who, id, spec: {} });
      await patience.pause(looks, deadline, `the change of ${kind} ${who.name}`);
    }
  }
}
