import { createRequire } from "node:module";
import "./fitting-node.js";

// Loaded after the check above, which an import would not be: see src/index.ts.
export const { handler } = createRequire(import.meta.url)(
  "#program-host",
) as typeof import("./stock-host.js");
