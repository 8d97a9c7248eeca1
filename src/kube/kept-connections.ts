import type { KubeConfig, RequestContext } from "@kubernetes/client-node";

type Dispatcher = ReturnType<RequestContext["getDispatcher"]>;

/** What the client makes for every request: private there, and the one place where it can be kept. */
interface DispatcherMaker {
  createDispatcher(cluster: unknown, agentOptions: object): Dispatcher;
}

/**
 * Lets all clients of a configuration use its connections again. As shipped, every request opens one of
 * its own, with a TLS handshake that takes longer than most answers. A renewed certificate or another
 * cluster gets new connections. Source: @kubernetes/client-node 2.0.1, config.js.
 */
export function keepConnections(config: KubeConfig): KubeConfig {
  const maker = config as unknown as DispatcherMaker;
  const make = maker.createDispatcher.bind(config);
  let kept: { readonly of: string; readonly dispatcher: Dispatcher } | undefined;
  maker.createDispatcher = (cluster, agentOptions) => {
    const of = JSON.stringify([cluster, agentOptions]);
    if (kept?.of !== of) kept = { of, dispatcher: make(cluster, agentOptions) };
    return kept.dispatcher;
  };
  return config;
}
