// The simulator's own routes: what AWS has no calls for.

import { faultOrderOf, objectOf, settingsChangeOf, snapshotOf } from "./admin-input.js";
import { actOnInstance, instanceActOf } from "./instance-acts.js";
import type { HttpRequest } from "./request.js";
import type { SimulatedAws } from "./simulated-aws.js";

interface AdminAnswer {
  readonly status: number;
  readonly document: unknown;
}

type Route = (aws: SimulatedAws, query: URLSearchParams, body: unknown) => unknown;

/** By method and path. docs/sim-aws.md tells what each takes and answers. */
const routes: Readonly<Record<string, Route>> = {
  "GET /_sim/health": () => ({ ok: true }),
  "GET /_sim/ledger": ({ ledger }, query) => ledger.after(Number(query.get("after") ?? 0)),
  "GET /_sim/state": (aws) => {
    aws.settle();
    return Object.fromEntries(
      aws.accounts.all().map((one) => [`${one.account}/${one.region}`, one.store.snapshot()]),
    );
  },
  "GET /_sim/time": ({ clock }) => ({ nowMs: clock.now() }),
  "POST /_sim/advance": (aws, _, body) => {
    const { ms } = objectOf(body, "an advance", ["ms"]);
    if (typeof ms !== "number" || !(ms >= 0)) throw new Error("ms is a number, and not below 0");
    aws.advance(ms);
    return { nowMs: aws.clock.now() };
  },
  "POST /_sim/reset": (aws) => {
    aws.reset();
    return {};
  },
  "GET /_sim/snapshot": (aws) => aws.snapshot(),
  "POST /_sim/snapshot": (aws, _, body) => {
    aws.restore(snapshotOf(body));
    return { nowMs: aws.clock.now() };
  },
  "GET /_sim/settings": ({ settings }) => settings,
  "POST /_sim/settings": (aws, _, body) => {
    aws.change(settingsChangeOf(body));
    return aws.settings;
  },
  "GET /_sim/faults": ({ faults }) => faults.list(),
  "POST /_sim/faults": ({ faults }, _, body) => ({ id: faults.add(faultOrderOf(body)) }),
  "DELETE /_sim/faults": ({ faults }) => {
    faults.clear();
    return {};
  },
  "POST /_sim/instance": (aws, _, body) => ({ regions: actOnInstance(aws, instanceActOf(body)) }),
  "GET /_sim/held": ({ held }) => held.list(),
  "POST /_sim/release": ({ held }, _, body) => {
    const { how = "go", seq } = objectOf(body, "a release", ["how", "seq"]);
    if (how !== "go" && how !== "cut") throw new Error("how is go or cut");
    return { released: held.release(how, seq === undefined ? undefined : Number(seq)) };
  },
};

/** Answers 404 for what there is not, and 400 for an order that would have no effect. */
export async function answerAdmin(
  aws: SimulatedAws,
  { method, path, body }: HttpRequest,
): Promise<AdminAnswer> {
  const { pathname, searchParams } = new URL(path, "http://localhost");
  const route = routes[`${method} ${pathname}`];
  if (route === undefined) {
    return {
      status: 404,
      document: { error: `there is no ${method} ${pathname}`, routes: Object.keys(routes) },
    };
  }
  try {
    const given: unknown = body === "" ? {} : JSON.parse(body);
    return { status: 200, document: await route(aws, searchParams, given) };
  } catch (error) {
    return {
      status: 400,
      document: { error: error instanceof Error ? error.message : String(error) },
    };
  }
}
