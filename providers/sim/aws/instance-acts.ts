// What happens to instances without a call of AWS's.

import { omitUndefined } from "../../../src/api/omit-undefined.js";
import { objectOf } from "./admin-input.js";
import { later, type Scope } from "./model/scope.js";
import { type ScheduledEventCode, scheduledEventCodes } from "./model/tables.js";
import type { SimulatedAws } from "./simulated-aws.js";

interface InstanceAct {
  readonly id: string;
  /** What it prints from now on, after what it has printed. */
  readonly console?: string;
  /** How load balancers find it. */
  readonly health?: "healthy" | "unhealthy";
  /** A spot instance is told that it is taken back. */
  readonly interrupt?: boolean;
  /** It ends by itself, with an error of AWS. */
  readonly fail?: boolean;
  /** EC2 announces what it is going to do with it, so many milliseconds from now. */
  readonly event?: { readonly code: ScheduledEventCode; readonly inMs: number };
}

/** Throws for an act that there is not. */
export function instanceActOf(body: unknown): InstanceAct {
  const names = ["id", "console", "health", "interrupt", "fail", "event"];
  const { id, health, event } = objectOf(body, "an act", names);
  if (typeof id !== "string") throw new Error("an act names an instance: id");
  if (event !== undefined) checkEvent(event);
  if (health === undefined || health === "healthy" || health === "unhealthy")
    return body as InstanceAct;
  throw new Error("health is healthy or unhealthy");
}

function checkEvent(event: unknown): void {
  const { code, inMs } = objectOf(event, "an event", ["code", "inMs"]);
  if (!(scheduledEventCodes as readonly unknown[]).includes(code)) {
    throw new Error(`there is no event ${String(code)}: ${scheduledEventCodes.join(", ")}`);
  }
  if (typeof inMs !== "number" || !(inMs >= 0)) {
    throw new Error("inMs is a number, and not below 0");
  }
}

/** Does it where there is such an instance; answers the regions: one, or none. */
export function actOnInstance(aws: SimulatedAws, act: InstanceAct): string[] {
  aws.settle();
  const places = aws.accounts
    .all()
    .filter(({ store }) => store.get("instances", act.id) !== undefined);
  for (const place of places) place.doByItself(aws.clock.now(), (scope) => carryOut(scope, act));
  aws.settle();
  aws.keep();
  return places.map(({ region }) => region);
}

function carryOut(
  scope: Scope,
  { id, console, health, interrupt = false, fail = false, event }: InstanceAct,
): void {
  const { db } = scope;
  const row = db.get("instances", id);
  if (row !== undefined) {
    const printed = `${row.console}${console ?? ""}`;
    db.put("instances", omitUndefined({ ...row, health: health ?? row.health, console: printed }));
  }
  for (const target of db.all("targets")) {
    if (health === undefined || target.targetId !== id || target.state === "draining") continue;
    db.put("targets", { ...target, state: health });
  }
  if (event !== undefined) announce(scope, id, event);
  if (interrupt) later(scope, "spotIsNoticed", id, 0);
  if (fail) later(scope, "instanceFails", id, 0);
}

function announce(scope: Scope, id: string, { code, inMs }: NonNullable<InstanceAct["event"]>) {
  const row = scope.db.get("instances", id);
  if (row === undefined) return;
  const one = {
    id: `instance-event-${scope.digits(17)}`,
    code,
    notBeforeMs: scope.nowMs + inMs,
  };
  scope.db.put("instances", { ...row, events: [...(row.events ?? []), one] });
  const isEnding = code === "instance-retirement" || code === "instance-stop";
  if (isEnding) later(scope, "instanceRetires", id, inMs);
}
