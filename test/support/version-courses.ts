import type { Desired } from "../../src/api/types.js";
import type { RunEvent } from "../../src/engine/run/run-event.js";
import { minorOf } from "../../src/api/versions.js";
import { plainWorld } from "./fake-cloud.js";
import { FakeEngine, outcomeText } from "./fake-engine.js";
import type { CommandFault } from "./faults.js";
import { cluster, desiredOf, machine } from "./manifests.js";

/** An upgrade by new hosts that something befalls, and what the user asks for then. */
export interface VersionCourse {
  readonly members: number;
  readonly fault: CommandFault | undefined;
  readonly then: "up" | "back" | "rollback";
  /** The API server does not answer once the first command has ended. */
  readonly isSilent?: boolean;
}

export interface VersionCourseTold {
  readonly violations: readonly string[];
  readonly outcomes: readonly string[];
  /** What the first command has written of the control plane, and which hosts it has seen ready, in order. */
  readonly events: readonly string[];
}

/** Another size asks for another host, so that no version changes in place. */
export function upgradeOf(members: number, controlPlane: string, size: string): Desired {
  const names = Array.from({ length: members }, (_, at) => `cp-${at}`);
  return desiredOf([
    cluster(),
    ...names.map((name) => machine(name, { controlPlane, size })),
    machine("web"),
  ]);
}

/** Runs a course to its end. What broke a law is in its `violations`. */
export async function versionCourseOf(course: VersionCourse): Promise<VersionCourseTold> {
  const { members, fault, then, isSilent = false } = course;
  const [old, upgraded] = [
    upgradeOf(members, "1.34.2", "small"),
    upgradeOf(members, "1.35.0", "large"),
  ];
  const events: string[] = [];
  const tell = (event: RunEvent) => {
    if (event.kind === "configured") events.push(event.what);
    if (event.kind === "ready") events.push(event.key.replace(/-[0-9a-f]{8}-\d+$/, ""));
  };
  const traits = { ...plainWorld, joins: true };
  const engine = await FakeEngine.running(old, { traits, tell });
  const { watch, hosts } = engine.cloud;
  events.length = 0;
  const outcomes = [outcomeText(await engine.up(upgraded, fault === undefined ? [] : [fault]))];
  const told = [...events];
  hosts.answers = () => !isSilent;
  const served = newerServed(engine);
  const isOpen = engine.prior.transaction?.number !== engine.prior.revision?.number;
  const outcome = await (then === "rollback"
    ? engine.rollback()
    : engine.up(then === "up" ? upgraded : old));
  outcomes.push(outcomeText(outcome));
  // Nothing to take back is refused as well.
  const isRefused = isOpen && outcomeText(outcome).includes("NOT_REVERSIBLE");
  // A refused command may have waited first for what the dead one had asked for.
  if (isRefused && !newerServed(engine) && !isSilent) {
    watch.blame("law 11: undo", `${then} was refused too early`);
  }
  if (isOpen && then !== "up" && served && !isRefused) {
    watch.blame("law 11: undo", `${then} was not refused, and a newer one has served`);
  }
  hosts.answers = () => true;
  if (isRefused || outcome.kind !== "done") await engine.up(upgraded);
  await engine.look("up");
  hosts.mustSayVersions(engine.hosts());
  return { violations: watch.violations, outcomes, events: told };
}

/** Whether a newer API server serves: in an open upgrade that can only go forward. */
function newerServed({ cloud }: FakeEngine): boolean {
  return cloud
    .alive()
    .some(
      (one) => minorOf(String(one.spec["controlPlane"])) === 1035 && cloud.hosts.hasServed(one),
    );
}
