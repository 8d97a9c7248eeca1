import { readFileSync } from "node:fs";
import { CapstanError, messageOf } from "../api/error.js";
import { isJsonObject, type Json } from "../api/json.js";
import {
  type Binding,
  bindingOf,
  isSavedPlan,
  type SavedPlan,
  savedPlanFormat,
  whatMoved,
} from "../plan/saved.js";
import type { Workspace } from "../engine/backend/workspace.js";
import type { Lookups } from "../provider/port.js";
import type { SecretValues } from "../provider/secret-values.js";
import { writeClosedFile } from "./closed-file.js";
import { packageVersion } from "./package.js";
import { planKeyOf } from "./plan-key.js";

/** Writes the file of `plan --out`, replacing one that is there. */
export function savePlan(
  path: string,
  plan: Omit<SavedPlan, "format" | "release">,
  secrets: Pick<SecretValues, "json">,
): void {
  const saved: SavedPlan = { format: savedPlanFormat, release: packageVersion(), ...plan };
  writeClosedFile(path, secrets.json(saved, 2), "the plan");
}

/** Reads it. Throws INVALID_INPUT for what is no saved plan, PLAN_STALE for one of another release. */
export function readSavedPlan(path: string): SavedPlan {
  const saved = parseSaved(path);
  const release = packageVersion();
  if (saved.release === release) return saved;
  throw stale(path, [`it was made by release ${saved.release}, this is ${release}`]);
}

/**
 * Throws BAD_USAGE unless the same is put into the manifests by name as when the plan was made. Whether the
 * values are the same, its digests tell: a saved plan holds none.
 */
export function refuseOtherOverrides(
  path: string,
  { overrides = [] }: SavedPlan,
  given: readonly string[],
): void {
  const missing = overrides.filter((name) => !given.includes(name));
  const others = given.filter((name) => !overrides.includes(name));
  if (missing.length + others.length === 0) return;
  const which = missing.length > 0 ? `with ${missing.join(", ")}` : `without ${others.join(", ")}`;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    subject: path,
    message: `cannot apply ${path}: it was made ${which}`,
    hint: "give the same options as to capstan plan; a saved plan does not hold their values",
  });
}

/** A saved plan, against which is held what would be applied now. */
export class SavedPlanCheck {
  private readonly bindings: ReadonlyMap<string, Binding>;
  /** Of clusters that are not there; empty where the plan was made without a passphrase, or is of none. */
  private newKey = "";

  constructor(
    private readonly path: string,
    private readonly saved: SavedPlan,
  ) {
    this.bindings = new Map(saved.clusters.map((binding) => [binding.stack, binding]));
  }

  /** What was looked up for the plan, by stack. */
  get answers(): ReadonlyMap<string, Lookups> {
    return new Map(
      [...this.bindings].flatMap(([stack, { lookups }]) =>
        lookups === undefined ? [] : [[stack, lookups] as const],
      ),
    );
  }

  /** Before anything is compared. Throws PLAN_STALE where the passphrase is another one than when the plan was made. */
  async open(workspace: Pick<Workspace, "passphrase">): Promise<void> {
    const { salt } = this.saved;
    if (salt === undefined) return;
    const key = await planKeyOf(salt, workspace);
    if (key === undefined) throw stale(this.path, ["the state's passphrase has changed"]);
    this.newKey = key;
  }

  /** What a plan is made from now, to be compared. */
  bindingOf(found: Parameters<typeof bindingOf>[0]): Binding {
    return bindingOf(found, this.newKey);
  }

  /** Throws PLAN_STALE naming everything that is no longer as the plan was made from. */
  all(clusters: readonly Binding[], prune: readonly string[]): void {
    const stacks = new Set(clusters.map(({ stack }) => stack));
    const missing = this.saved.clusters.filter(({ stack }) => !stacks.has(stack));
    this.refuse([
      ...clusters.flatMap((binding) => this.movedOf(binding)),
      ...missing.map(({ cluster }) => `Cluster ${cluster} is gone from the manifests`),
      ...(this.saved.prune.join() === prune.join() ? [] : ["what --prune destroys"]),
    ]);
  }

  /** The same for one cluster, under its lock. */
  one(binding: Binding): void {
    this.refuse(this.movedOf(binding));
  }

  private movedOf(now: Binding): string[] {
    const saved = this.bindings.get(now.stack);
    return saved === undefined
      ? [`Cluster ${now.cluster} is new in the manifests`]
      : whatMoved(saved, now);
  }

  private refuse(moved: readonly string[]): void {
    if (moved.length > 0) throw stale(this.path, moved);
  }
}

function parseSaved(path: string): SavedPlan {
  try {
    const saved = JSON.parse(readFileSync(path, "utf8")) as Json;
    if (isSavedPlan(saved)) return saved;
    const format = isJsonObject(saved) ? saved["format"] : undefined;
    throw new Error(
      format === savedPlanFormat ? "something of it is missing" : `its format is ${String(format)}`,
    );
  } catch (error) {
    throw new CapstanError({
      code: "INVALID_INPUT",
      source: "user",
      message: `cannot read a saved plan from ${path}: ${messageOf(error)}`,
      hint: "capstan plan --out writes one",
      cause: error,
    });
  }
}

function stale(path: string, moved: readonly string[]): CapstanError {
  return new CapstanError({
    code: "PLAN_STALE",
    source: "user",
    subject: path,
    message: `cannot apply ${path}, since it was made:\n${moved.map((line) => `  ${line}`).join("\n")}`,
    hint: "nothing was changed; plan again, and have it reviewed again",
  });
}
