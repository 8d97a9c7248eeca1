import assert from "node:assert/strict";
import { LocalCloud } from "../../providers/local/cloud.js";
import { type Fault, faultCalls, faultModes } from "../../providers/local/faults.js";
import type { JsonObject } from "../../src/api/json.js";
import { findAlive } from "../../src/cli/resource-named.js";
import { systemClock } from "../../src/provider/clock.js";

/** What a fault has besides its call and its mode. */
export type HandFaultOptions = Omit<Fault, "call" | "mode">;

/** What the verbs of `capstan local` do to a cloud in its file, without a process: a process takes longer than the change. */
export class CloudHand {
  constructor(private readonly file: string) {}

  /** `call` and `mode` as `capstan local fault` knows them. */
  fault(call: string, mode: string, options: HandFaultOptions = {}): Promise<void> {
    const what = {
      call: faultCalls.find((one) => one === call)!,
      mode: faultModes.find((one) => one === mode)!,
    };
    assert.deepEqual(what, { call, mode });
    return this.with((cloud) => cloud.addFault({ ...what, ...options }));
  }

  clearFaults(): Promise<void> {
    return this.with((cloud) => cloud.clearFaults());
  }

  /** Terminates a resource; `name` is its id, its name, or the machine that a host serves. */
  kill(name: string): Promise<void> {
    return this.with(async (cloud) => {
      const { id } = await findAlive(cloud, name);
      await cloud.terminate(id, undefined, "kill");
    });
  }

  /** Changes fields of a resource, named as for `kill`. */
  set(name: string, fields: JsonObject): Promise<void> {
    return this.with(async (cloud) => {
      const { id, spec } = await findAlive(cloud, name);
      await cloud.update(id, { ...spec, ...fields }, undefined, "set");
    });
  }

  /** Makes an image the newest of its family. */
  addImage(family: string, name: string): Promise<void> {
    return this.with((cloud) => cloud.addImage({ family, name }));
  }

  private async with(work: (cloud: LocalCloud) => Promise<unknown>): Promise<void> {
    const cloud = new LocalCloud(this.file, systemClock);
    try {
      await work(cloud);
    } finally {
      cloud.close();
    }
  }
}
