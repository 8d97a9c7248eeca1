import { existsSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { sameJson, type JsonObject } from "../../../src/api/json.js";
import type { Clock, Failure, NodeReport } from "../../../src/provider/port.js";
import { CloudFile } from "../file/cloud-file.js";
import { logOf } from "../file/ledger.js";
import {
  loadBalancerOf,
  type LocalResource,
  membersBehind,
  resourceById,
  setBroken,
  setReadiness,
  setStatus,
  setTerminated,
  takeUserData,
} from "../file/resource.js";
import type { HostFolder } from "./host-folder.js";

/** A load balancer and where it stands. */
export interface LoadBalancerPlace {
  readonly loadBalancer: LocalResource;
  /** "10.0.0.0/16": the addresses of its network. */
  readonly cidr: string;
}

/** The cloud's file as the processes of one of its resources use it. */
export class ProcessRecords {
  private readonly file: CloudFile;

  constructor(
    private readonly cloudPath: string,
    private readonly id: string,
    private readonly clock: Clock,
  ) {
    this.file = new CloudFile(cloudPath, clock);
  }

  /** The resource; undefined once it is terminated, or its cloud is no more. */
  async living(): Promise<LocalResource | undefined> {
    if (!existsSync(this.cloudPath)) return undefined;
    const found = await this.file.read((database) => resourceById(database, this.id));
    return found?.state === "terminated" ? undefined : found;
  }

  /**
   * Whether it may run: it is not terminated, and has its disk. A host's disk is made here with the user data, which the cloud's
   * file has no more from then on, in one transaction: there is no second disk, and so nothing that a host begins is begun
   * twice. A host whose disk is gone has ended. A load balancer keeps nothing, and gets another folder.
   */
  async boot(folder: HostFolder): Promise<boolean> {
    if (!existsSync(this.cloudPath)) return false;
    return this.file.write((database) => {
      const found = resourceById(database, this.id);
      if (found === undefined || found.state === "terminated") return false;
      const userData = found.kind === "LocalHost" ? takeUserData(database, this.id) : "";
      if (userData !== undefined) folder.make(userData);
      if (folder.isWhole()) return true;
      this.setLost(database, found, "its disk is gone");
      return false;
    });
  }

  /** It has ended, for a reason that the ledger tells: what runs for it cannot go on where it was. */
  async lose(reason: string): Promise<void> {
    await this.file.write((database) => {
      const found = resourceById(database, this.id);
      if (found === undefined || found.state === "terminated") return;
      this.setLost(database, found, reason);
    });
  }

  private setLost(database: DatabaseSync, found: LocalResource, reason: string): void {
    const atMs = this.clock.now();
    setTerminated(database, this.id, atMs);
    logOf(database, { call: "die", atMs })("terminated", found, { reason });
  }

  /** It was to become a node, and does not. It is kept, so that people can look why. */
  async fail(failure: Failure): Promise<void> {
    await this.file.write((database) => {
      const found = resourceById(database, this.id);
      if (found === undefined || found.state === "terminated") return;
      setBroken(database, this.id, failure);
      logOf(database, { call: "boot", atMs: this.clock.now() })("failed", found, { ...failure });
    });
  }

  close(): void {
    this.file.close();
  }

  /** Members of a control plane that a load balancer is in front of. */
  members(): Promise<readonly LocalResource[]> {
    return this.file.read((database) => membersBehind(database, this.id));
  }

  /** The load balancer of its cluster, which may be itself, with the range of the network that it stands in; undefined where one is gone. */
  place(): Promise<LoadBalancerPlace | undefined> {
    return this.file.read((database) => {
      const found = resourceById(database, this.id);
      const loadBalancer = found === undefined ? undefined : loadBalancerOf(database, found);
      if (loadBalancer === undefined) return undefined;
      const network = resourceById(database, String(loadBalancer.spec["networkId"]));
      return network === undefined
        ? undefined
        : { loadBalancer, cidr: String(network.spec["cidr"]) };
    });
  }

  /** Where a load balancer answers: its own for as long as it is there. */
  async answersAt(status: JsonObject): Promise<void> {
    await this.file.write((database) => {
      const found = resourceById(database, this.id);
      if (found === undefined || found.state === "terminated") return;
      if (!sameJson(found.status, status)) setStatus(database, this.id, status);
      if (found.readySinceMs !== undefined) return;
      const readySinceMs = this.clock.now();
      setReadiness(database, this.id, { joinsMs: Infinity, readySinceMs });
      logOf(database, { call: "join", atMs: readySinceMs })("ready", found);
    });
  }

  /** Whether its node is ready, with what it says of itself: of no interest where other versions are wanted meanwhile. */
  async tell(isReady: boolean, report: NodeReport): Promise<void> {
    await this.file.write((database) => {
      const found = resourceById(database, this.id);
      if (found?.state !== "running" || !isAsWanted(found.spec, report)) return;
      if (
        (found.readySinceMs !== undefined) === isReady &&
        sameJson({ ...found.node }, { ...report })
      )
        return;
      const nowMs = this.clock.now();
      const log = logOf(database, { call: isReady ? "join" : "restart", atMs: nowMs });
      if (!isReady) {
        setReadiness(database, this.id, { joinsMs: Infinity, node: report });
        return log("not ready", found);
      }
      const readySinceMs = found.readySinceMs ?? nowMs;
      setReadiness(database, this.id, { joinsMs: Infinity, readySinceMs, node: report });
      log("ready", found);
    });
  }
}

function isAsWanted(spec: JsonObject, { kubelet, controlPlane }: NodeReport): boolean {
  return spec["kubelet"] === kubelet && spec["controlPlane"] === controlPlane;
}
