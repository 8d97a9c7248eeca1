import type { NodeKey } from "../../src/graph/graph.js";
import { sameJson } from "../../src/api/json.js";
import { isRecordKind, type RecordedResource } from "../../src/records/prior-state.js";
import { revisionKey, transactionKey } from "../../src/transaction/pass.js";
import type { PassProgram, Registration } from "../../src/transaction/registration.js";
import type { Activity, LawWatch } from "./law-watch.js";

/**
 * Blames a pass that registers in a wrong order, whose end deletes what was not admitted, or that makes
 * something and goes on to its deletions should that fail.
 */
export function holdAgainstLaws(
  program: PassProgram,
  recorded: readonly RecordedResource[],
  { watch, continues }: { readonly watch: LawWatch; readonly continues: boolean },
): void {
  for (const defect of orderDefects(program)) watch.blame("order", defect);
  for (const key of continues ? madeOrWritten(program, recorded) : []) {
    watch.blame("law 8: admitted", `deletions do not wait for ${key}, which is made before them`);
  }
  const registered = new Set(program.registrations.map(({ key }) => key));
  const doomed = recorded.filter(({ key, type }) => type === "resource" && !registered.has(key));
  for (const { key } of doomed) {
    const isCommit = activityOf(program) === "commit";
    if (!isCommit && !watch.mayGoEarly(key)) {
      watch.blame("law 8: admitted", `${key} is deleted before the commit`);
    }
    if (!watch.isLeaving(key)) {
      watch.blame("law 8: admitted", `${key} is deleted, which no plan admitted`);
    }
  }
}

/** What a pass creates, and the records of the transaction that it writes. */
function madeOrWritten(
  { registrations }: PassProgram,
  recorded: readonly RecordedResource[],
): NodeKey[] {
  const before = new Map(recorded.map(({ key, inputs }) => [key, inputs]));
  const isSame = ({ key, kind, inputs }: Registration) => {
    const known = before.get(key);
    return known !== undefined && (!isRecordKind(kind) || sameJson(known, inputs));
  };
  return registrations.filter((one) => !isSame(one)).map(({ key }) => key);
}

/** A commit is what registers a Revision of its Transaction's number. */
export function activityOf({ registrations }: PassProgram): Activity {
  const [transaction] = registrations;
  const last = registrations.at(-1);
  const isCommit =
    last?.key === revisionKey && last.inputs["number"] === transaction?.inputs["number"];
  return isCommit ? "commit" : "change";
}

function orderDefects({ registrations }: PassProgram): string[] {
  const keys = registrations.map(({ key }) => key);
  const before = new Set<NodeKey>();
  const defects: string[] = [];
  for (const { key, parent, dependsOn } of registrations) {
    const needed = [...dependsOn, ...(parent === undefined ? [] : [parent])];
    if (before.has(key)) defects.push(`${key} is registered twice`);
    if (!needed.every((one) => before.has(one))) defects.push(`${key} comes too early`);
    before.add(key);
  }
  if (keys[0] !== transactionKey) defects.push(`${keys[0] ?? "nothing"} comes before Transaction`);
  if (before.has(revisionKey) && keys.at(-1) !== revisionKey) defects.push("Revision is not last");
  return defects;
}
