import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { CapstanError, isCapstanError, messageOf } from "../../api/error.js";
import { type AnyObject, objectsOf } from "../../api/types.js";
import { makeFolder, replaceFile } from "../../engine/backend/durable-files.js";
import type { StackEngine } from "../../engine/pulumi/engine.js";
import { canHandOver, handOver, refuseUnfinished } from "../../engine/operations/hand-over.js";
import { refuseNonOwner, type StackState } from "../../engine/backend/state.js";
import { intentOfPaused } from "../../kube/live-intent.js";
import {
  controllerOf,
  type LiveCluster,
  type LiveObject,
  templateMetadataOf,
} from "../../kube/live-object.js";
import { withoutClasses } from "../../kube/machine-classes.js";
import { isMoving } from "../../kube/move-objects.js";
import { deletionTermsOf, hooksIn } from "../../workload/drain/deletion-terms.js";
import { BadInput } from "../../manifest/bad-input.js";
import { fileOwner, openHandOver } from "../../records/hand-over.js";
import { handOverHere, type Move, type Moved } from "./moving.js";

const pollMs = 250;

/**
 * From an API server to files: once its controller is at rest the Cluster is paused; then its manifests are
 * written, so that what cannot be written stays where it is; then the change of owner is begun, the objects go, and it is
 * committed. Until the begin the API server is in charge, from the commit on files, and in between nobody: whoever
 * finds the objects, also while they are being deleted, is refused by the stack, and so is whoever has the files.
 */
export class MoveToFiles {
  private readonly deadlineAtMs: number;

  constructor(private readonly move: Move) {
    const { context, options } = move;
    this.deadlineAtMs = context.clock.now() + options.timeout * 1_000;
  }

  async run(state: StackState): Promise<Moved> {
    const { move } = this;
    const { objects, cluster, serverUrl } = move;
    const underWay = handOverHere(move, state);
    const live = await objects.read();
    const isOurs = state.transaction?.owner === fileOwner;
    if (isOurs && underWay === undefined && !isMoving(live.cluster)) {
      const left =
        live.cluster === undefined ? "" : `; what ${serverUrl} holds of it is left alone`;
      return { text: `belongs to manifests in files already${left}` };
    }
    const isTheirs = !isOurs && underWay === undefined;
    if (isTheirs) this.refuseUnlessThere(state, live);
    // Seen before anything is changed.
    if (!isOurs) {
      refuseOverwriting(this.file(), this.manifests(state, live), move.options.force);
      writing(this.file(), () => makeFolder(move.options.out ?? "", 0o777));
    }
    for (let attempts = 1; ; attempts += 1) {
      const moved = await this.attempt(isTheirs);
      if (moved !== undefined) return moved;
      if (attempts === 1) move.tell(`${cluster} is being worked on; that is waited for`);
    }
  }

  private refuseUnlessThere(state: StackState, live: LiveCluster): void {
    const { cluster } = live;
    refuseNonOwner(state, this.move.server, "move");
    if (cluster === undefined) throw this.missing();
    this.refuseHooks(live);
  }

  /** Manifests hold the set, and none of its Machines: nobody would ask for what such a Machine alone bears. Throws HELD. */
  private refuseHooks({ members }: LiveCluster): void {
    const { cluster } = this.move;
    const held = members.flatMap((one) => {
      if (one.kind !== "Machine" || controllerOf(one) === undefined) return [];
      const set = ownersOf(one, members).at(-1);
      const kept = new Set(hookNames(set && templateMetadataOf(set)));
      const names = hookNames(one.metadata).filter((name) => !kept.has(name));
      return names.length > 0 ? [`Machine ${one.metadata.name} (${names.join(", ")})`] : [];
    });
    if (held.length === 0) return;
    throw new CapstanError({
      code: "HELD",
      source: "user",
      subject: cluster,
      message: `cannot move ${cluster}: hooks hold ${held.join(", ")}, and manifests hold no Machine of a set`,
      hint: "have their owners take them off, or put them on the template of the set; nothing was changed",
    });
  }

  /** `isTheirs`: a controller may work on it. Undefined: it was faster than the pause. */
  private async attempt(isTheirs: boolean): Promise<Moved | undefined> {
    const { objects } = this.move;
    if (isTheirs) {
      await this.untilFinished();
      await this.untilAtRest(await objects.pause());
    }
    try {
      return await this.move.locked((engine) => this.handOver(engine, isTheirs));
    } catch (error) {
      const isBusy = isCapstanError(error) && error.code === "LOCKED" && !this.isOver;
      if (!isBusy) {
        await this.letGoOn();
        throw error;
      }
      await this.pauseBetweenLooks();
      return undefined;
    }
  }

  /** Where it failed before it was begun, the API server's controller goes on as if nobody had asked. */
  private async letGoOn(): Promise<void> {
    try {
      const state = await this.move.readState();
      const isTheirs = state.transaction?.owner !== fileOwner && openHandOver(state) === undefined;
      if (isTheirs) await this.move.objects.unpause();
    } catch (error) {
      // What it failed with before says more; a cluster that stays paused says by whom.
      if (!isCapstanError(error)) throw error;
    }
  }

  /** Under the stack's lock. */
  private async handOver(engine: StackEngine, isTheirs: boolean): Promise<Moved | undefined> {
    const { move } = this;
    const { stack, objects, server, provider, context, options } = move;
    const { clock, by, interruption } = context;
    const state = await engine.readState(stack);
    // What a controller has begun it ends; nobody else is waited for.
    if (isTheirs && !canHandOver(state)) return undefined;
    refuseUnfinished(stack, state);
    const underWay = handOverHere(move, state);
    if (state.transaction?.owner === fileOwner) this.writeAgain(state);
    else {
      const live =
        underWay === undefined
          ? await objects.read()
          : await objects.refuseOthers(state.revision?.target.objects ?? []);
      if (underWay === undefined) this.refuseUnlessThere(state, live);
      this.write(this.manifests(state, live));
    }
    // Before they are in charge: whoever has the manifests from before may look for what is gone from those.
    move.noteManifests(options.out);
    const stop = interruption.stop;
    const whileOpen = () => objects.depart();
    const how = { engine, provider, clock, by, stop, whileOpen };
    const transaction = await handOver(stack, state, { to: fileOwner, from: server }, how);
    return {
      transaction,
      text: `belongs to manifests in files from transaction ${transaction} on: capstan plan -f ${options.out ?? ""}`,
    };
  }

  /** An attempt that was begun has written them, when all its objects were there, perhaps to another folder than this one names. */
  private writeAgain(state: StackState): void {
    const recorded = state.revision?.target.objects;
    if (recorded !== undefined && !existsSync(this.file())) this.write(textOf(recorded));
  }

  private write(text: string): void {
    write(this.file(), text, this.move.options);
    this.move.tell(`its manifests are in ${this.file()}`);
  }

  /** No transaction is open. What a pause of an earlier attempt holds up is let go on. */
  private async untilFinished(): Promise<void> {
    const { stack, objects } = this.move;
    for (;;) {
      const state = await this.move.readState();
      if (canHandOver(state)) return;
      await objects.unpause();
      if (this.isOver || !(await this.move.isLed())) refuseUnfinished(stack, state);
      await this.pauseBetweenLooks();
    }
  }

  /** A controller, if there is one, says that it has seen the pause: it does so when its work has ended. */
  private async untilAtRest(pause: string): Promise<void> {
    const { cluster, objects } = this.move;
    while (await this.move.isLed()) {
      const { status } = (await objects.read()).cluster ?? {};
      if (status?.["phase"] === "Paused" && status["message"] === pause) return;
      if (this.isOver) {
        await objects.unpause();
        throw new CapstanError({
          code: "DEADLINE",
          source: "engine",
          subject: cluster,
          message: `cannot move ${cluster}: its controller does not come to rest`,
          hint: "kubectl describe cluster shows what it does; nothing was changed",
          retryable: true,
        });
      }
      await this.pauseBetweenLooks();
    }
  }

  private get isOver(): boolean {
    return this.move.context.clock.now() > this.deadlineAtMs;
  }

  private pauseBetweenLooks(): Promise<void> {
    const { clock, interruption } = this.move.context;
    return clock.sleep(pollMs, interruption.stop);
  }

  private file(): string {
    return join(this.move.options.out ?? "", `${this.move.stack}.yaml`);
  }

  /**
   * What users have written, as it would be read from files. Of a cluster whose objects have not all arrived, what they
   * were to say. Throws BadInput where it is wrong.
   */
  private manifests(state: StackState, live: LiveCluster): string {
    const recorded = openHandOver(state) && state.revision?.target.objects;
    return textOf(recorded ?? this.written(live));
  }

  private written(live: LiveCluster): readonly AnyObject[] {
    const intent = intentOfPaused(live, this.move.context.providers.all);
    const errors = (intent?.diagnostics ?? []).filter(({ severity }) => severity === "error");
    const [desired] = intent?.clusters ?? [];
    if (errors.length > 0 || desired === undefined) throw new BadInput(errors);
    return objectsOf(desired);
  }

  private missing(): CapstanError {
    const { cluster, serverUrl, stack } = this.move;
    return new CapstanError({
      code: "NOT_FOUND",
      source: "user",
      subject: cluster,
      message: `cannot move ${cluster}: ${serverUrl} holds no Cluster of that name, although it owns ${stack}`,
      hint: `capstan move ${stack} --to kubernetes puts its objects there again`,
    });
  }
}

function hookNames({ annotations }: Pick<LiveObject["metadata"], "annotations"> = {}): string[] {
  return hooksIn(deletionTermsOf(annotations)).map(({ name }) => name);
}

function textOf(objects: readonly AnyObject[]): string {
  return objects.map((object) => stringify(withoutClasses(object))).join("---\n");
}

/** Throws BAD_USAGE for a file that says something else. */
function refuseOverwriting(file: string, text: string, force = false): void {
  if (force || !existsSync(file) || readFileSync(file, "utf8") === text) return;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `cannot write ${file}: it exists, and says something else`,
    hint: "name another folder with --out, or replace it with --force; nothing was changed",
  });
}

/** Complete or not at all. Throws BAD_USAGE and NOT_WRITABLE. */
function write(file: string, text: string, { out = "", force }: Move["options"]): void {
  writing(file, () => makeFolder(out, 0o777));
  refuseOverwriting(file, text, force);
  writing(file, () => replaceFile(file, text, { mode: 0o666 }));
}

/** Throws NOT_WRITABLE for whatever the file system refuses. */
function writing(file: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    throw new CapstanError({
      code: "NOT_WRITABLE",
      source: "user",
      subject: file,
      message: `cannot write ${file}: ${messageOf(error)}`,
      hint: "see to that, or name another folder with --out; the cluster stays where it is",
      cause: error,
    });
  }
}

/** What controls an object, and what controls that: the last one is what manifests hold. */
function ownersOf(object: LiveObject, members: readonly LiveObject[]): LiveObject[] {
  const owner = controllerOf(object);
  const above = members.find(
    ({ kind, metadata }) => kind === owner?.kind && metadata.name === owner.name,
  );
  return above === undefined ? [] : [above, ...ownersOf(above, members)];
}
