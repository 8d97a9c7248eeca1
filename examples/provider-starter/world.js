// What the conformance suite runs on: the provider on an empty cloud that can be made to misbehave.

import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { steppingClock } from "capstan/provider/conformance";
import { CloudClient } from "./cloud.js";
import { providerOf } from "./provider.js";

const apiVersion = "acme.example.dev/v1alpha1";

/** What questions are answered with: the cloud is away, or the credentials may not look. */
const errors = {
  unavailable: () => new Error("the cloud gives no answer"),
  denied: () => Object.assign(new Error("you may not look"), { status: 403 }),
};

/** The cloud, with things in the way of its requests. With an SDK: a middleware of the client. */
class FaultyCloud extends CloudClient {
  lagMs = 0;
  boots = true;

  async send({ signal, changes = false }, work) {
    if (this.hangs) await untilAborted(signal);
    if (this.blindness !== undefined && !changes) throw errors[this.blindness]();
    if (changes) this.hook?.();
    const answer = await super.send({ signal }, work);
    if (!changes || !this.losesNext) return answer;
    this.losesNext = false;
    throw new Error("the answer is lost");
  }

  async list(...args) {
    const { servers, next } = await super.list(...args);
    const isShown = ({ createdMs }) => createdMs + this.lagMs <= this.clock.now();
    return { servers: servers.filter(isShown), next };
  }

  shown(server) {
    const shown = super.shown(server);
    return this.boots || shown.ended ? shown : { ...shown, state: "booting" };
  }
}

function untilAborted(signal) {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

function openWorld() {
  const folder = fs.mkdtempSync(join(tmpdir(), "acme-"));
  const clock = steppingClock();
  const cloud = new FaultyCloud(join(folder, "cloud.json"), clock);
  const alive = () => cloud.read().filter(({ ended }) => ended !== "deleted");
  const add = (...servers) => cloud.write([...cloud.read(), ...servers]);
  const serverOf = (who, spec, token = who.token) => ({
    id: `srv-${token.slice(0, 12)}`,
    token,
    tags: { ...who, spec: JSON.stringify(spec) },
    size: spec.size,
    note: spec.note,
    createdMs: clock.now(),
    runsFromMs: clock.now(),
  });
  return {
    provider: providerOf(cloud),
    clock,
    clusterUid: "uid-1",
    loseNextCreate: () => void (cloud.losesNext = true),
    lagListings: (ms) => void (cloud.lagMs = ms),
    blind: (on, how = "unavailable") => void (cloud.blindness = on ? how : undefined),
    plant(who, spec) {
      const server = serverOf(who, spec);
      add(server);
      return server.id;
    },
    countAlive: (who) => alive().filter(({ tags }) => tags.token === who.token).length,
    close: () => fs.rmSync(folder, { recursive: true }),
    // What a world may have: each of these shows more. Leave out what you cannot show, and name in `lacks` what your cloud does not have.
    lacks: {
      partial: "all servers are in one place",
      partsOf: "nothing is made together with a server",
      plantNamesake: "servers have no names",
      conflictNextChange: "no change is refused as out of date",
      forgetOperations: "there are no operations",
      holdOperations: "changes are over at once",
      refuseNextRemoval: "there are no operations",
    },
    blindBy: ["denied"],
    beforeChange: (hook) => void (cloud.hook = hook),
    alive: () => alive().map(({ id }) => id),
    hang: (on) => void (cloud.hangs = on),
    holdBoot: (on) => void (cloud.boots = !on),
    mutate(id, fields) {
      const changes = Object.entries(fields).filter(([field]) => ["size", "note"].includes(field));
      cloud.change(id, Object.fromEntries(changes));
      return changes.length > 0;
    },
    stop: (id) => void cloud.change(id, { ended: "stopped" }),
    kill: (id) => void cloud.change(id, { ended: "deleted" }),
    plantMany: (whos, spec) => add(...whos.map((who) => serverOf(who, spec))),
    plantTwin(who, spec) {
      const twin = serverOf(who, spec, `${who.token.slice(1)}0`);
      add(twin);
      return twin.id;
    },
  };
}

export const subject = {
  clusterSpec: { apiVersion, kind: "AcmeClusterProviderSpec" },
  machineSpec: { apiVersion, kind: "AcmeMachineProviderSpec" },
  replacing: { size: "large" },
  inPlace: { note: "changed" },
  open: openWorld,
};
