import type { Clock, InfrastructureProvider } from "../provider/port.js";
import type { ClusterSource } from "../source/cluster-source.js";
import type { ClusterState } from "./cluster-state.js";
import type { EventSink } from "./reconcile-event.js";
import { shownBy } from "./reconciler.js";

interface CertificateOptions {
  readonly source: Pick<ClusterSource, "certificatesOf">;
  readonly sink: EventSink;
  readonly clock: Clock;
  readonly providers: readonly InfrastructureProvider[];
}

interface PollOptions extends CertificateOptions {
  readonly remembered: () => ReadonlyMap<string, ClusterState>;
  /** What is shown of a cluster may have to be another: a certificate is due, or a threshold has passed. */
  readonly onChange: (key: string) => void;
}

/** Between two looks at the certificates of clusters at which nothing else happens. */
const periodMs = 3_600_000;

/** Time alone makes certificates expire. Looks at those of every cluster, until the signal. */
export async function pollCertificates(options: PollOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await options.clock.sleep(periodMs, signal);
    } catch {
      return;
    }
    for (const [key, cluster] of options.remembered()) {
      tellCertificates(key, cluster, options);
      options.onChange(key);
    }
  }
}

/** Tells until when a cluster's certificates count, and once of what people have to know. */
export function tellCertificates(
  key: string,
  cluster: ClusterState,
  { source, sink, clock, providers }: CertificateOptions,
): void {
  const { view } = cluster;
  if (view === undefined || view.isBlind === true) return;
  const provider = shownBy(view, providers);
  if (provider === undefined) return;
  const report = source.certificatesOf(key, view, provider, clock.now());
  sink(key, { kind: "certificates", expiries: report.expiries });
  const news = cluster.certificatesSeen(report);
  for (const expiry of news.expiries) sink(key, { kind: "certificate expires", expiry });
  if (news.conflicts.length > 0) sink(key, { kind: "secret conflict", secrets: news.conflicts });
}
