import { CapstanError } from "../../api/error.js";
import type { KeyRing } from "../../bootstrap/certificates/key-ring.js";
import { joiningHosts } from "../../engine/run/joining-hosts.js";
import { RunBootstrap } from "../../engine/run/run-bootstrap.js";
import { AvailabilityTracker } from "../../engine/run/availability.js";
import { observe, type Observation } from "../../engine/run/observe.js";
import { waitUntilAvailable } from "../../engine/run/waits.js";
import type { StackState } from "../../engine/backend/state.js";
import type { ProcessIdentity } from "../../engine/locks/process-identity.js";
import { keyOf, type NodeKey } from "../../graph/graph.js";
import { openWorkload } from "../../kube/open-workload.js";
import type { ObservedResource } from "../../plan/observation.js";
import type { Plan } from "../../plan/plan.js";
import type { CallContext, InfrastructureProvider } from "../../provider/port.js";
import { transactionPayload } from "../../transaction/payloads.js";
import { contextUnder, inlineTimeoutMs } from "./own-engine.js";
import { noteAddress } from "./program-address.js";
import { serveUserData } from "./program-server.js";

/** One pass of a Pulumi program whose hosts join a cluster. */
interface JoiningPass {
  readonly plan: Plan;
  readonly keys: KeyRing | undefined;
  readonly state: StackState;
  readonly provider: InfrastructureProvider;
}

/**
 * What a program gives to the hosts that its one pass makes, and takes back from them once they are nodes. Pulumi's process of dynamic
 * resources asks it for user data, none of which is recorded; the revision is committed after all of them have joined.
 */
export class InlineBootstrap {
  private readonly context: CallContext;
  private readonly records: StackState;

  private constructor(
    private readonly bootstrap: RunBootstrap,
    private readonly pass: JoiningPass,
    private readonly hosts: readonly NodeKey[],
    engine: ProcessIdentity | undefined,
  ) {
    this.context = contextUnder(engine);
    const { plan, keys, state } = pass;
    const { number, clusterUid, owner, startedAtMs } = plan.transaction;
    const head = { number, clusterUid, owner, startedAtMs };
    this.records = { ...state, transaction: { ...transactionPayload(plan, keys), ...head } };
  }

  /**
   * Answers from now on, once what was kept for hosts that were never made is gone; undefined where no host has to join. Throws
   * NO_SPACE or NOT_WRITABLE, and what a store refuses.
   */
  static async open(
    pass: JoiningPass,
    place: { readonly stateDir: string; readonly engine: ProcessIdentity | undefined },
  ): Promise<InlineBootstrap | undefined> {
    const { plan, provider, state } = pass;
    const { stateDir, engine } = place;
    const bootstrap = RunBootstrap.of(plan.target, {
      provider,
      openWorkload,
      report: () => undefined,
    });
    const hosts = joiningHosts(plan.target, state.revision?.target);
    // While a record still names them: the pass writes over it.
    await bootstrap?.forgetUnmade(contextUnder(engine), state);
    if (bootstrap === undefined || hosts.length === 0) return undefined;
    const inline = new InlineBootstrap(bootstrap, pass, hosts, engine);
    const over = bootstrap.over(() => inline.records);
    const address = await serveUserData((who) => over.userDataFor(inline.context, who));
    if (engine !== undefined) noteAddress(stateDir, engine, address);
    return inline;
  }

  /** Until all hosts serve that have been made. Throws what a run of ours throws of hosts that do not. */
  async joined(): Promise<void> {
    const { plan, provider } = this.pass;
    await waitUntilAvailable(this.hosts, {
      goal: plan,
      provider,
      clock: this.context.clock,
      stop: this.context.signal,
      timeoutMs: inlineTimeoutMs(process.env),
      availability: new AvailabilityTracker(plan.target),
      bootstrap: this.bootstrap,
      context: this.context,
      report: () => undefined,
      recorded: () => this.records,
      observe: () => this.observe(),
    });
    const { observedResources } = await this.observe();
    const lost = this.hosts.filter((key) => (observedResources.get(key) ?? "gone") === "gone");
    if (lost.length > 0) throw hostsLost(plan.cluster, lost);
  }

  /** What the cloud shows of the cluster; what the pass has made counts as recorded, since Pulumi does that meanwhile. */
  private async observe(): Promise<Observation> {
    const { plan, provider } = this.pass;
    const { clusterUid, cloud } = plan.transaction;
    const scope = { cluster: plan.cluster, clusterUid };
    const seen = await observe(provider, this.context, scope, this.records, cloud);
    const made = seen.unrecorded.filter(({ phase }) => phase !== "gone");
    const observedResources = new Map<NodeKey, ObservedResource>(seen.observedResources);
    for (const one of made) observedResources.set(keyOf(one.who), one);
    const observation = { ...seen, observedResources, unrecorded: [] };
    return this.bootstrap.asJoined(this.context, observation, this.records);
  }
}

function hostsLost(cluster: string, hosts: readonly NodeKey[]): CapstanError {
  return new CapstanError({
    code: "RESOURCE_GONE",
    source: "cloud",
    subject: cluster,
    message: `cannot commit ${cluster}: ${hosts.join(", ")} went away before it had joined`,
    hint: "run pulumi refresh, then pulumi up",
  });
}
