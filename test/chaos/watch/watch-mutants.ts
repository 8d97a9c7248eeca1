import { Reconciler } from "../../../src/controller/reconciler.js";
import { replacedMethod, type Replacement } from "../../support/replacement.js";
import type { WatchLife, WatchPoint } from "./watch-life.js";

/** A controller without one protection, the life in which that has to be noticed, and what is told of it. */
interface WatchMutant {
  readonly edits: readonly Replacement[];
  readonly life: WatchLife;
  readonly want: RegExp;
}

const anyStatus: WatchPoint["boundary"] = {
  side: "before",
  kind: "write",
  what: "status",
  name: undefined,
  nth: 1,
};
const killedInDelete: WatchPoint = { operation: "delete", boundary: anyStatus, fault: "tree" };
/** Where one protection stands behind the other, both go: what has to be noticed is that nothing protects any more. */
export const watchMutants = {
  /** A Cluster goes before anybody has looked whether anything of it is left. */
  letGoTooSoon: {
    edits: [
      replacedMethod(
        Reconciler,
        ({ reconcile }) => reconcile,
        (original) =>
          async function (key) {
            const { source } = this.options;
            if (source.intentOf(key).kind === "remove") await source.release(key);
            return original.call(this, key);
          },
      ),
    ],
    life: { operations: ["create", "delete"], points: [killedInDelete] },
    // Its Cluster or its Machines, whichever the controller comes to first.
    want: /laws: (Cluster quickstart|Machine \S+) is let go while .* lives/,
  },
} as const satisfies Record<string, WatchMutant>;

export type WatchMutantName = keyof typeof watchMutants;
