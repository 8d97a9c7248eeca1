import type { KubeConfig, RequestContext } from "@kubernetes/client-node";
import { omitUndefined } from "../api/omit-undefined.js";

type Dispatcher = ReturnType<RequestContext["getDispatcher"]>;

/** How the client connects: to the API server itself, or to what a proxy leads to. */
interface DispatcherOptions {
  readonly connect?: object;
  readonly requestTls?: object;
}

/** What the client makes for every request: private there, and the one place where it can be kept. */
interface DispatcherMaker {
  createDispatcher(cluster: unknown, agentOptions: object): Dispatcher;
  createDispatcherOptions(cluster: unknown, agentOptions: object): DispatcherOptions;
}

/**
 * Lets all clients of a configuration use its connections again. As shipped, every request opens one of
 * its own, with a TLS handshake that takes longer than most answers. A renewed certificate or another
 * cluster gets new connections. Source: @kubernetes/client-node 2.0.1, config.js.
 */
export function keepConnections(config: KubeConfig): KubeConfig {
  const maker = config as unknown as DispatcherMaker;
  oneRequestAtATime(maker);
  const make = maker.createDispatcher.bind(config);
  let kept: { readonly of: string; readonly dispatcher: Dispatcher } | undefined;
  maker.createDispatcher = (cluster, agentOptions) => {
    const of = JSON.stringify([cluster, agentOptions]);
    if (kept?.of !== of) kept = { of, dispatcher: make(cluster, agentOptions) };
    return kept.dispatcher;
  };
  return config;
}

/**
 * HTTP/2 would carry everything over one connection, which stays when a request on it is given up: once
 * it is lost without a word, nothing is answered any more, leases included. By HTTP/1.1 a request that
 * is given up takes its connection along. Source: undici 8, Client allowH2.
 */
function oneRequestAtATime(maker: DispatcherMaker): void {
  const options = maker.createDispatcherOptions.bind(maker);
  maker.createDispatcherOptions = (cluster, agentOptions) => {
    const { connect, requestTls, ...rest } = options(cluster, agentOptions);
    return omitUndefined({
      ...rest,
      connect: connect === undefined ? undefined : { ...connect, allowH2: false },
      requestTls: requestTls === undefined ? undefined : { ...requestTls, allowH2: false },
    });
  };
}
