/** A Node as its API server shows it, as far as its kubelet says that it is ready. Source: core/v1, NodeCondition. */
interface BeatingNode {
  readonly status?:
    | {
        readonly conditions?:
          | readonly {
              readonly type: string;
              readonly status: string;
              readonly lastHeartbeatTime?: Date | undefined;
            }[]
          | undefined;
      }
    | undefined;
}

/** Times of API objects have no fractions: what happened within a second is written down as at its beginning. */
const secondMs = 1_000;

/**
 * Until when a kubelet may last have said that its Node is ready, milliseconds since the epoch; undefined where it is not. A kubelet says
 * so when it starts and whenever anything changes, and every five minutes without. Pure.
 */
export function readyAtMsOf({ status }: BeatingNode): number | undefined {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status !== "True" || ready.lastHeartbeatTime === undefined) return undefined;
  return ready.lastHeartbeatTime.getTime() + secondMs - 1;
}
