import { customResourceDefinitions } from "../../src/api/crd.js";
import { installDefinitions } from "../../src/kube/install.js";
import { ApiServer } from "./api-server.js";

/** A running API server that knows our kinds. */
export async function serverWithKinds(): Promise<ApiServer> {
  const server = await ApiServer.start();
  await installDefinitions(server.config, {
    definitions: customResourceDefinitions(),
    dryRun: false,
    force: false,
    signal: new AbortController().signal,
    onInstalled: () => {},
  });
  return server;
}
