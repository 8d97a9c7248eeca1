import { installDefinitions } from "../../src/kube/install.js";
import { ApiServer } from "./api-server.js";

/** A running API server that knows our kinds. */
export async function serverWithKinds(): Promise<ApiServer> {
  const server = await ApiServer.start();
  await installDefinitions(server.config, {
    dryRun: false,
    force: false,
    signal: new AbortController().signal,
    onInstalled: () => {},
  });
  return server;
}
