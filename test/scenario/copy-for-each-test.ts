import { Sandbox, type SandboxOptions, type SandboxSource } from "./sandbox.js";

/**
 * Gives each test of the suite that this is called in a sandbox of its own: a copy of one that is
 * made and brought to where the tests begin only once, by default with its cluster running. Bringing
 * it up takes seconds, a copy takes none.
 */
export function copyForEachTest(
  source: SandboxSource,
  use: (copy: Sandbox) => void,
  prepare: (sandbox: Sandbox) => Promise<unknown> = (sandbox) => sandbox.up(),
  options: () => Promise<SandboxOptions> = () => Promise.resolve({}),
): void {
  let prepared: Sandbox;
  let copy: Sandbox;
  before(async () => {
    prepared = await Sandbox.make(source, await options());
    await prepare(prepared);
  });
  after(() => prepared.close());
  beforeEach(() => {
    copy = prepared.copy();
    use(copy);
  });
  afterEach(() => copy.close());
}
