/** What etcd says of itself. JSON data. Source: https://etcd.io/docs/v3.6/dev-guide/api_reference_v3/ */
export interface EtcdReport {
  /** As etcd lists them. */
  readonly members: readonly EtcdMemberReport[];
  /** All that are raised. */
  readonly alarms: readonly EtcdAlarm[];
}

export interface EtcdMemberReport {
  /** A number of 64 bits, as text. */
  readonly id: string;
  /** Absent of one that was added and has never run. */
  readonly name?: string;
  /** The host that it runs on, by its name, among those that were asked about. */
  readonly host?: string;
  /** It is to catch up with the others before it counts for their majority. */
  readonly isLearner: boolean;
  readonly answer: EtcdAnswer;
}

/**
 * What a member says when it is asked itself. `certificateUntilMs`: until when the certificate counts that it has shown, or has counted,
 * milliseconds since the epoch; its host's were made together.
 */
export type EtcdAnswer =
  | {
      readonly kind: "answered";
      /** Id of the member that it follows; absent: it knows of none. */
      readonly leader?: string;
      /** What it finds wrong with itself, in its own words. */
      readonly troubles: readonly string[];
      readonly certificateUntilMs?: number;
    }
  | {
      readonly kind: "silent";
      readonly because: string;
      /** Absent: nobody has seen it. */
      readonly certificateUntilMs?: number;
    };

interface EtcdAlarm {
  /** Id of the member that has raised it. */
  readonly member: string;
  /** "NOSPACE", "CORRUPT" or what else etcd knows. */
  readonly alarm: string;
}
