import type { OpenTokens } from "../engine/run/token-store.js";

/** Loads the client of an API server only for who asks one for a token. */
export const openTokens: OpenTokens = async (access) => {
  const { BootstrapTokens } = await import("./bootstrap-tokens.js");
  return new BootstrapTokens(access);
};
