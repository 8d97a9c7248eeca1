import { counted } from "../../api/counted.js";
import { CapstanError } from "../../api/error.js";
import type { StackEngine } from "../../engine/pulumi/engine.js";
import { handOver, refuseUnfinished } from "../../engine/operations/hand-over.js";
import { refuseNonOwner, type StackState } from "../../engine/backend/state.js";
import { isMoving } from "../../kube/move-objects.js";
import { fileOwner } from "../../records/hand-over.js";
import type { Move, Moved } from "./moving.js";

/**
 * From files to an API server: its objects first, paused; then the owner; then the pause goes. Until the
 * owner has changed the files are in charge, from then on the API server, where nobody acts on a paused Cluster.
 */
export class MoveToApiServer {
  constructor(private readonly move: Move) {}

  async run(): Promise<Moved> {
    const { move } = this;
    const { cluster, objects, serverUrl } = move;
    const transaction = await move.locked((engine) => this.handOver(engine));
    const next = `kubectl get cluster ${cluster.split("/")[1] ?? ""} -n ${cluster.split("/")[0] ?? ""}`;
    if (transaction === undefined) return { text: `belongs to ${serverUrl} already: ${next}` };
    await objects.unpause();
    return {
      transaction,
      text: `belongs to ${serverUrl} from transaction ${transaction} on, where capstan watch looks after it: ${next}`,
    };
  }

  /** Under the stack's lock. Undefined where nothing is left to do. */
  private async handOver(engine: StackEngine): Promise<number | undefined> {
    const { move } = this;
    const { stack, objects, server, provider, context } = move;
    const { clock, by, interruption } = context;
    const state = await engine.readState(stack);
    const isThere = state.transaction?.owner === server;
    if (!isThere) refuseNonOwner(state, fileOwner, "move");
    refuseUnfinished(stack, state);
    const { cluster } = await objects.read();
    const isPaused = isMoving(cluster);
    if (isThere && cluster !== undefined && !isPaused && isCommitted(state)) return undefined;
    if (!isThere && cluster !== undefined && !isPaused) throw this.occupied();
    if (!isThere || cluster === undefined) {
      const count = await objects.arrive(state.revision?.target.objects ?? []);
      move.tell(`${counted(count, "object is", "objects are")} in ${move.serverUrl}, paused`);
    }
    const stop = interruption.stop;
    return handOver(stack, state, server, { engine, provider, clock, by, stop });
  }

  private occupied(): CapstanError {
    const { cluster, serverUrl } = this.move;
    const [namespace = "", name = ""] = cluster.split("/");
    return new CapstanError({
      code: "NOT_OWNER",
      source: "user",
      subject: cluster,
      message: `cannot move ${cluster}: ${serverUrl} holds a Cluster of that name, which no move has brought there`,
      hint: `see whose it is: kubectl describe cluster ${name} -n ${namespace}; nothing was changed`,
    });
  }
}

function isCommitted({ transaction, revision }: StackState): boolean {
  return transaction?.number === revision?.number;
}
