// What happens to instances without a call of AWS's.

import { objectOf } from "./admin-input.js";
import { later, type Scope } from "./model/scope.js";
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
}

/** Throws for an act that there is not. */
export function instanceActOf(body: unknown): InstanceAct {
  const { id, health } = objectOf(body, "an act", ["id", "console", "health", "interrupt", "fail"]);
  if (typeof id !== "string") throw new Error("an act names an instance: id");
  if (health === undefined || health === "healthy" || health === "unhealthy")
    return body as InstanceAct;
  throw new Error("health is healthy or unhealthy");
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
  { id, console, health, interrupt = false, fail = false }: InstanceAct,
): void {
  const { db } = scope;
  const row = db.get("instances", id);
  if (row !== undefined && console !== undefined) {
    db.put("instances", { ...row, console: `${row.console}${console}` });
  }
  for (const target of db.all("targets")) {
    if (health === undefined || target.targetId !== id || target.state === "draining") continue;
    db.put("targets", { ...target, state: health });
  }
  if (interrupt) later(scope, "spotIsNoticed", id, 0);
  if (fail) later(scope, "instanceFails", id, 0);
}
