import type { FakeEngine } from "./fake-engine.js";

/**
 * Tells what is gone although it was to stay. What a command that died had asked to be deleted, while nothing kept it, goes in the course of
 * the next one, whatever that says.
 */
export class Missing {
  private kept: ReadonlySet<string> = new Set();

  constructor(private readonly engine: FakeEngine) {}

  /** Of what was to stay in the course of the last command, ids. */
  among(kept: readonly string[]): string[] {
    const { calls, cloud } = this.engine;
    const there = new Set(cloud.alive().map(({ id }) => id));
    const late = new Set(
      calls.flatMap(({ call, id, isLate }) => (call === "delete" && isLate === true ? [id] : [])),
    );
    const missing = kept.filter((id) => !there.has(id) && (this.kept.has(id) || !late.has(id)));
    this.kept = new Set(kept);
    return missing;
  }
}
