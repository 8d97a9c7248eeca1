import type { WayBack } from "../plan/crossing.js";
import type { Direction } from "../plan/target.js";

/** An open transaction as people are told of it. */
export interface OpenTransaction {
  readonly number: number;
  readonly direction: Direction;
  readonly wayBack: WayBack;
  readonly stack: string;
  /** "2h ago". */
  readonly begun?: string;
}

/** What becomes of it is up to its reader: the sentence that names the ways on. Pure. */
export function openTransactionText(open: OpenTransaction): string {
  const { number, begun } = open;
  const since = begun === undefined ? "" : `, begun ${begun}`;
  return `Transaction ${number} is not finished${since}: ${waysOn(open)}.`;
}

function waysOn({ direction, stack, wayBack }: OpenTransaction): string {
  if (direction === "back") return `capstan rollback ${stack} goes on with it`;
  const forward = "capstan up goes on with it";
  switch (wayBack.kind) {
    case "free":
      return `${forward}, capstan rollback ${stack} takes it back`;
    case "closed":
      return `${forward}, and there is no way back: ${crossedText(wayBack)}`;
    case "unknown":
      return `${forward}; capstan rollback ${stack} takes it back, unless ${wayBack.crossing.join(" or ")} runs its newer control plane already`;
  }
}

/** "LocalHost/cp-0-7ca2dcf0-1 has a control plane of 1.35.0 already". Pure. */
export function crossedText({ crossed }: Extract<WayBack, { kind: "closed" }>): string {
  const hosts = crossed.map(({ host, version }) => `${host} has a control plane of ${version}`);
  return `${hosts.join(", ")} already`;
}
