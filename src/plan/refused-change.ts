import { CapstanError } from "../api/error.js";
import type { MemberPath } from "../api/diagnostic-codes.js";
import type { ExpandedMachine } from "../sets/expanded.js";
import { ownerText } from "../sets/owning-objects.js";

/** A change that cannot be made, and of what. */
export interface Refusal {
  /** "Machine cp-0", "LocalNetwork network". */
  readonly subject: string;
  readonly reason: string;
  /** What cannot be done with it; absent: "change". */
  readonly verb?: string;
  /** The machine that it is about; absent of what machines share. */
  readonly machine?: Pick<ExpandedMachine, "name" | "owner">;
  /** What asks for it, below the machine's spec: ["versions", "kubelet"]. */
  readonly member?: MemberPath;
}

/** UNSUPPORTED_CHANGE of everything that cannot be changed, or be imported as it is, a line each. */
export class RefusedChange extends CapstanError {
  /** `placeOf` says where somebody asked for it: "workers.yaml:9:3". */
  constructor(
    readonly refusals: readonly Refusal[],
    readonly remedy: string,
    placeOf: (refusal: Refusal) => string | undefined = () => undefined,
    readonly verb: "change" | "import" = "change",
  ) {
    super({
      code: "UNSUPPORTED_CHANGE",
      source: "user",
      message: alike(refusals)
        .map(([first, ...others]) => {
          const place = placeOf(first);
          const line = `cannot ${first.verb ?? verb} ${subjectText(first, others.length)}: ${first.reason}`;
          return place === undefined ? line : `${place}: ${line}`;
        })
        .join("\n"),
      hint: remedy,
    });
  }
}

type Group = [Refusal, ...Refusal[]];

/** Machines of one set or deployment that are refused for one reason are told together. */
function alike(refusals: readonly Refusal[]): Group[] {
  const groups = new Map<string, Group>();
  for (const refusal of refusals) {
    const { subject, machine, reason } = refusal;
    const key = JSON.stringify([setOf(machine) ?? subject, reason]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [refusal]);
    else group.push(refusal);
  }
  return [...groups.values()];
}

function subjectText({ subject, machine }: Refusal, others: number): string {
  return others === 0 ? subject : `${subject} and ${others} more of ${setOf(machine) ?? ""}`;
}

/** "MachineDeployment web". */
function setOf(machine: Refusal["machine"]): string | undefined {
  return machine?.owner === undefined ? undefined : ownerText(machine.owner);
}
