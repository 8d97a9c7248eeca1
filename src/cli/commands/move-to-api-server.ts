import { counted } from "../../api/counted.js";
import { CapstanError, isCapstanError } from "../../api/error.js";
import type { AnyObject } from "../../api/types.js";
import type { StackEngine } from "../../engine/pulumi/engine.js";
import { handOver, refuseUnfinished } from "../../engine/operations/hand-over.js";
import { refuseNonOwner } from "../../engine/backend/state.js";
import { isMoving } from "../../kube/move-objects.js";
import { fileOwner, openHandOver } from "../../records/hand-over.js";
import { handOverHere, type Move, type Moved } from "./moving.js";

/**
 * From files to an API server: the change of owner is begun, its objects arrive, paused, and it is committed; then the pause
 * goes. Until the begin the files are in charge, from the commit on the API server, and in between nobody.
 */
export class MoveToApiServer {
  constructor(private readonly move: Move) {}

  async run(): Promise<Moved> {
    const { move } = this;
    const { cluster, objects, serverUrl } = move;
    const transaction = await move.locked((engine) => this.handOver(engine));
    move.noteManifests();
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
    const underWay = handOverHere(move, state);
    const isThere = state.transaction?.owner === server;
    if (underWay === undefined && !isThere) refuseNonOwner(state, fileOwner, "move");
    refuseUnfinished(stack, state);
    const { cluster } = await objects.read();
    const isPaused = isMoving(cluster);
    if (underWay === undefined && cluster !== undefined) {
      if (isThere) return isPaused ? state.revision?.number : undefined;
      if (!isPaused) throw this.occupied();
    }
    const recorded = state.revision?.target.objects ?? [];
    // Seen before anything is changed.
    await objects.refuseOthers(recorded);
    const stop = interruption.stop;
    const how = { engine, provider, clock, by, stop };
    const whileOpen = async () => {
      const count = await objects.arrive(recorded);
      move.tell(`${counted(count, "object is", "objects are")} in ${move.serverUrl}, paused`);
    };
    try {
      return await handOver(stack, state, { to: server, from: fileOwner }, { ...how, whileOpen });
    } catch (error) {
      if (underWay === undefined && !isThere) await this.giveBack(recorded, how);
      throw error;
    }
  }

  /** Where its objects cannot arrive, the files stay in charge as if nobody had asked. */
  private async giveBack(
    recorded: readonly AnyObject[],
    how: Omit<Parameters<typeof handOver>[3], "whileOpen">,
  ): Promise<void> {
    const { stack, objects, server } = this.move;
    try {
      const state = await how.engine.readState(stack);
      if (openHandOver(state)?.to !== server) return;
      await objects.refuseOthers(recorded);
      const whileOpen = () => objects.depart();
      await handOver(stack, state, { to: fileOwner, from: server }, { ...how, whileOpen });
    } catch (error) {
      // What it failed with before says more; a stack that is still on its way says so itself.
      if (!isCapstanError(error)) throw error;
    }
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
