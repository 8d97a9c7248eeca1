import {
  CoreV1Api,
  CustomObjectsApi,
  type KubeConfig,
  PatchStrategy,
  V1Secret,
} from "@kubernetes/client-node";
import type { ApiWrite } from "./api-write.js";
import { type LiveSecret, secretNameOf, type SecretWrite } from "./cluster-secrets.js";
import { CapstanError, isCapstanError } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { apiGroup, apiVersionName, kinds, namesOf } from "../api/kind-names.js";
import type { Kind } from "../api/schema.js";
import { secretLabel } from "../bootstrap/certificates/secrets.js";
import { Semaphore } from "../provider/semaphore.js";
import type { IdentityKind } from "../api/identity-crd.js";
import type { ClusterWideObject, LiveObject } from "./live-object.js";
import { fieldManager } from "./field-owners.js";
import { liveName } from "./live-object.js";
import { mayPass, saidBy, statusOf, within } from "./requests.js";

/** What became of a write. */
export type WriteResult<T = LiveObject> =
  | { readonly kind: "written"; readonly object: T }
  /** The object is gone, or going: nothing is left to write. */
  | { readonly kind: "gone" }
  /** Somebody was faster: what was read is old, and what is wanted has to be decided again. */
  | { readonly kind: "conflict" };

/**
 * However many clusters there are: an API server serves requests no faster for being asked more at once,
 * and who leads has to be heard among them.
 */
const requestsAtATime = 8;

/** What an object is called, whether an API server has it or not. */
export interface NamedLive {
  readonly kind: Kind;
  readonly metadata: { readonly name: string; readonly namespace: string };
}

/** Everything of a kind, with the version of the list. */
export interface LiveList<T> {
  readonly items: readonly T[];
  readonly metadata: { readonly resourceVersion: string };
}

/** Our kinds, and the Secrets of clusters, in one API server. Every call ends in bounded time. */
export class KubeApi {
  private readonly objects: CustomObjectsApi;
  private readonly core: CoreV1Api;
  private readonly semaphore = new Semaphore(requestsAtATime);

  constructor(config: KubeConfig) {
    this.objects = config.makeApiClient(CustomObjectsApi);
    this.core = config.makeApiClient(CoreV1Api);
  }

  /** Every object of a kind, with the version of the list. Throws API_SERVER. */
  async list(kind: Kind): Promise<LiveList<LiveObject>> {
    const about = {
      group: apiGroup,
      version: apiVersionName,
      resourcePlural: namesOf(kind).plural,
    };
    const listed = (await this.call("list", kind, () =>
      this.objects.listCustomObjectForAllNamespaces(about, within()),
    )) as LiveList<LiveObject>;
    // Items of a list do not say what they are.
    const items = listed.items.map((item) => ({
      ...item,
      apiVersion: `${apiGroup}/${apiVersionName}`,
      kind,
    }));
    return { items, metadata: listed.metadata };
  }

  /** Every object of a kind without namespaces, with the version of the list. Throws API_SERVER. */
  async listClusterWide({
    kind,
    apiVersion,
    plural,
  }: IdentityKind): Promise<LiveList<ClusterWideObject>> {
    const [group = "", version = ""] = apiVersion.split("/");
    const listed = (await this.call("list", kind, () =>
      version === ""
        ? this.core.listNamespace({}, within())
        : this.objects.listClusterCustomObject({ group, version, plural }, within()),
    )) as LiveList<ClusterWideObject>;
    const items = listed.items.map((item) => ({ ...item, apiVersion, kind }));
    return { items, metadata: listed.metadata };
  }

  /** An object as it is now; undefined when there is none of that name. Throws API_SERVER. */
  async read(named: NamedLive): Promise<LiveObject | undefined> {
    const at = { ...placeOf(named), name: named.metadata.name };
    try {
      return await this.call(
        "get",
        liveName(named),
        () => this.objects.getNamespacedCustomObject(at, within()) as Promise<LiveObject>,
      );
    } catch (error) {
      if (isCapstanError(error) && statusOf(error.cause) === 404) return undefined;
      throw error;
    }
  }

  /** Whether every kind of ours is served: `capstan install` makes it so. Throws API_SERVER. */
  async servesOurKinds(): Promise<boolean> {
    const about = { group: apiGroup, version: apiVersionName, limit: 1 };
    const served = kinds.map(async (kind) => {
      const resourcePlural = namesOf(kind).plural;
      try {
        await this.call("list", kind, () =>
          this.objects.listCustomObjectForAllNamespaces({ ...about, resourcePlural }, within()),
        );
        return true;
      } catch (error) {
        if (isCapstanError(error) && statusOf(error.cause) === 404) return false;
        throw error;
      }
    });
    return (await Promise.all(served)).every((isServed) => isServed);
  }

  /** Names this API server for as long as it lives. Throws API_SERVER. */
  async identity(): Promise<string> {
    const { metadata } = await this.call("get", "Namespace", () =>
      this.core.readNamespace({ name: "kube-system" }, within()),
    );
    return metadata?.uid ?? "";
  }

  /** Carries out one write. Throws API_SERVER, retryable where trying again can help. */
  async write(write: ApiWrite): Promise<WriteResult> {
    try {
      const answer = await this.send(write);
      // Of what was deleted at once an API server answers that it was, and no object.
      const isObject = (answer as { metadata: { uid?: string } }).metadata.uid !== undefined;
      return isObject ? { kind: "written", object: answer as LiveObject } : { kind: "gone" };
    } catch (error) {
      const status = isCapstanError(error) ? statusOf(error.cause) : 0;
      if (status === 404) return { kind: "gone" };
      if (status === 409) return { kind: "conflict" };
      throw error;
    }
  }

  /** Every Secret that carries a cluster's label. Throws API_SERVER. */
  async listSecrets(): Promise<LiveList<LiveSecret>> {
    const { items, metadata } = await this.call("list", "Secrets", () =>
      this.core.listSecretForAllNamespaces({ labelSelector: secretLabel }, within()),
    );
    const resourceVersion = metadata?.resourceVersion ?? "0";
    return { items: items.map(liveSecretOf), metadata: { resourceVersion } };
  }

  /** A Secret as it is now, with a label or without; undefined when there is none of that name. Throws API_SERVER. */
  async readSecret(at: { namespace: string; name: string }): Promise<LiveSecret | undefined> {
    try {
      const secret = await this.call("get", `Secret ${at.namespace}/${at.name}`, () =>
        this.core.readNamespacedSecret(at, within()),
      );
      return liveSecretOf(secret);
    } catch (error) {
      if (isCapstanError(error) && statusOf(error.cause) === 404) return undefined;
      throw error;
    }
  }

  /** Carries out one write of a Secret. Throws like `write`. */
  async writeSecret(write: SecretWrite): Promise<WriteResult<LiveSecret>> {
    const target = write.kind === "create" ? write.secret : write.on;
    const { namespace, name } = target.metadata;
    try {
      const secret = await this.call(write.kind, `Secret ${secretNameOf(target)}`, () => {
        if (write.kind === "create") {
          const body = Object.assign(new V1Secret(), write.secret);
          const at = { namespace, body, fieldManager };
          return this.core.createNamespacedSecret(at, within());
        }
        const at = { namespace, name, body: write.patch, fieldManager };
        return this.core.patchNamespacedSecret(at, within(PatchStrategy.MergePatch));
      });
      return { kind: "written", object: liveSecretOf(secret) };
    } catch (error) {
      const status = isCapstanError(error) ? statusOf(error.cause) : 0;
      if (status === 404) return { kind: "gone" };
      if (status === 409) return { kind: "conflict" };
      throw error;
    }
  }

  private send(write: ApiWrite): Promise<unknown> {
    switch (write.kind) {
      case "create": {
        const { object } = write;
        const at = { ...placeOf(object), body: object, fieldManager };
        return this.call("create", liveName(object), () =>
          this.objects.createNamespacedCustomObject(at, within()),
        );
      }
      case "patch": {
        const at = { ...namedPlaceOf(write.on), body: write.patch, fieldManager };
        return this.call("patch", liveName(write.on), () =>
          this.objects.patchNamespacedCustomObject(at, within(PatchStrategy.MergePatch)),
        );
      }
      case "status": {
        const at = { ...namedPlaceOf(write.on), body: write.patch, fieldManager };
        return this.call("patch", liveName(write.on), () =>
          this.objects.patchNamespacedCustomObjectStatus(at, within(PatchStrategy.MergePatch)),
        );
      }
      case "delete": {
        const preconditions = { uid: write.on.metadata.uid };
        const at = { ...namedPlaceOf(write.on), body: { preconditions } };
        return this.call("delete", liveName(write.on), () =>
          this.objects.deleteNamespacedCustomObject(at, within()),
        );
      }
    }
  }

  private async call<T>(verb: string, subject: string, request: () => Promise<T>): Promise<T> {
    try {
      return await this.semaphore.take(request);
    } catch (error) {
      throw refused(verb, subject, error);
    }
  }
}

function placeOf({ kind, metadata }: NamedLive) {
  const { plural } = namesOf(kind);
  return { group: apiGroup, version: apiVersionName, plural, namespace: metadata.namespace };
}

function namedPlaceOf(object: LiveObject) {
  return { ...placeOf(object), name: object.metadata.name };
}

/** The client makes dates of times; here they are texts, as a watch tells them. */
function liveSecretOf({ metadata, type, data }: V1Secret): LiveSecret {
  const plain = JSON.parse(JSON.stringify(metadata)) as LiveSecret["metadata"];
  return omitUndefined({ metadata: plain, type, data });
}

function refused(verb: string, subject: string, error: unknown): CapstanError {
  const status = statusOf(error);
  return new CapstanError(
    omitUndefined({
      code: "API_SERVER",
      source: "engine",
      subject,
      message: `cannot ${verb} ${subject}: ${saidBy(error)}`,
      hint:
        status === 403
          ? "give the account of this process that right (deploy/kubernetes)"
          : undefined,
      retryable: mayPass(error),
      cause: error,
    }),
  );
}
