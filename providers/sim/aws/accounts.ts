// The accounts of a simulated AWS: their regions, the sessions of their roles, and the file that keeps them.

import { omitUndefined } from "../../../src/api/omit-undefined.js";
import { seededDigits } from "../core/ids.js";
import { StateFile } from "../core/state-file.js";
import { ApiError } from "./protocol/api-error.js";
import { type RegionDocument, RegionState } from "./region-state.js";
import type { NewSession } from "./model/scope.js";
import type { AccessKey, SimSettings } from "./model/settings.js";

/** The accounts as JSON: what outlives the process, and what can be put back. */
export interface AccountsDocument {
  readonly version: number;
  /** In the cloud's own time. */
  readonly nowMs: number;
  /** By "account/region". */
  readonly regions: Readonly<Record<string, RegionDocument>>;
  readonly sessions: Readonly<Record<string, AccessKey>>;
}

export class Accounts {
  /** The cloud's time when they were last kept; 0 where they are new. */
  readonly lastMs: number;
  private readonly regions = new Map<string, RegionState>();
  private readonly sessions = new Map<string, AccessKey>();
  private readonly file: StateFile<AccountsDocument> | undefined;

  /** Reads what the file has. Throws for one that is of another version, or no file of ours. */
  constructor(
    private readonly settings: () => SimSettings,
    path: string | undefined,
  ) {
    this.file = path === undefined ? undefined : new StateFile(path);
    const document = this.file?.read();
    this.lastMs = document?.nowMs ?? 0;
    if (document === undefined) return;
    if (document.version !== documentVersion) {
      throw new Error(`${path ?? ""} is not a state of this version of the simulator`);
    }
    this.fill(document);
  }

  /** Everything as it was. Throws for a document of another version, and changes nothing then. */
  restore(document: AccountsDocument): void {
    if (document.version !== documentVersion) {
      throw new Error("it is not a snapshot of this version of the simulator");
    }
    this.clear();
    this.fill(document);
  }

  private fill({ regions, sessions }: AccountsDocument): void {
    for (const [place, region] of Object.entries(regions)) {
      const [account = "", name = ""] = place.split("/");
      this.regions.set(place, new RegionState(account, name, this.settings, region));
    }
    for (const [key, owner] of Object.entries(sessions)) this.sessions.set(key, owner);
  }

  region(account: string, name: string): RegionState {
    const place = `${account}/${name}`;
    const known = this.regions.get(place);
    if (known !== undefined) return known;
    const region = new RegionState(account, name, this.settings);
    this.regions.set(place, region);
    return region;
  }

  all(): RegionState[] {
    return [...this.regions.values()];
  }

  sessionOf(accessKey: string): AccessKey | undefined {
    return this.sessions.get(accessKey);
  }

  /** Makes a session of a role; answers its access key. Throws AccessDenied for a role that nobody has an ARN of. */
  openSession({ roleArn, name: sessionName, expiresAtMs }: NewSession): string {
    const [, account = "", name = ""] =
      /^arn:aws:iam::(\d{12}):role\/(?:.*\/)?([^/]+)$/.exec(roleArn) ?? [];
    if (name === "") throw new ApiError("AccessDenied", `Role ${roleArn} is not there`);
    const digits = seededDigits(this.settings().seed, `session ${this.sessions.size}`, 16);
    const accessKey = `ASIA${digits.toUpperCase()}`;
    const principal = `arn:aws:sts::${account}:assumed-role/${name}/${sessionName}`;
    const { allow } = this.settings().roles[roleArn] ?? {};
    this.sessions.set(accessKey, omitUndefined({ principal, account, allow, expiresAtMs }));
    return accessKey;
  }

  /** Everything is as it was when nobody had made anything. */
  clear(): void {
    this.regions.clear();
    this.sessions.clear();
  }

  keep(nowMs: number): void {
    this.file?.write(this.document(nowMs, (region) => region.document()));
  }

  /** All of it as it is now, with what describe calls that lag still show. */
  snapshot(nowMs: number): AccountsDocument {
    return this.document(nowMs, (region) => region.documentWithPast());
  }

  private document(nowMs: number, of: (region: RegionState) => RegionDocument): AccountsDocument {
    return {
      version: documentVersion,
      nowMs,
      regions: Object.fromEntries([...this.regions].map(([place, one]) => [place, of(one)])),
      sessions: Object.fromEntries(this.sessions),
    };
  }
}

const documentVersion = 1;
