// Preloaded by commands (`node --import`): the load balancers of a simulated AWS have names that nobody resolves. Whoever connects to one comes to
// the API servers that RunningHosts stands for.

import { Socket } from "node:net";

const port = Number(process.env["STAND_IN_API_PORT"]);
const balancer = /\.elb\.[a-z0-9-]+\.amazonaws\.com$/;

interface Place {
  readonly host?: string;
}

// Whatever connects by TCP comes through it, with its options first, by itself or in a list.
const prototype = Socket.prototype as { connect: (...args: unknown[]) => Socket };
const usual = prototype.connect;
prototype.connect = function (this: Socket, ...args: unknown[]): Socket {
  const [first, ...rest] = args;
  if (!Array.isArray(first)) return usual.call(this, relayed(first), ...rest);
  const [options, ...others] = first as unknown[];
  // Node.js tells its own lists by a symbol that they bear.
  const list = Object.assign([relayed(options), ...others], symbolsOf(first));
  return usual.call(this, list, ...rest);
};

function relayed(options: unknown): unknown {
  if (typeof options !== "object" || options === null) return options;
  const { host = "" } = options as Place;
  return balancer.test(host) ? { ...options, host: "127.0.0.1", port } : options;
}

function symbolsOf(list: object): object {
  const symbols = Object.getOwnPropertySymbols(list);
  return Object.fromEntries(
    symbols.map((one) => [one, (list as Readonly<Record<symbol, unknown>>)[one]]),
  );
}
