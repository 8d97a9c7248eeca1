import {
  ApiException,
  CoreV1Api,
  CustomObjectsApi,
  type ConfigurationOptions,
  type KubeConfig,
  PatchStrategy,
  type RequestContext,
  type ResponseContext,
  setHeaderOptions,
} from "@kubernetes/client-node";
import { CapstanError, messageOf } from "../api/error.js";
import { apiGroup, apiVersionName, namesOf } from "../api/kind-names.js";
import type { Kind } from "../api/schema.js";
import type { LiveObject } from "./live-object.js";
import { liveName } from "./live-object.js";
import type { ApiWrite } from "./projection.js";

/** Told of every request, for metrics. */
export type CallWatcher = (call: {
  readonly verb: "list" | "get" | "create" | "patch" | "delete";
  readonly kind: string;
  /** HTTP status; 0 where no answer came. */
  readonly status: number;
}) => void;

/** What became of a write. */
export type WriteResult =
  | { readonly kind: "written"; readonly object: LiveObject }
  /** The object is gone, or going: nothing is left to write. */
  | { readonly kind: "gone" }
  /** Somebody was faster: what was read is old, and what is wanted has to be decided again. */
  | { readonly kind: "conflict" };

/** A half-open connection answers never: no request waits longer. */
const answerTimeoutMs = 15_000;

/** Our kinds in one API server. Every call ends in bounded time. */
export class KubeApi {
  private readonly objects: CustomObjectsApi;
  private readonly core: CoreV1Api;

  constructor(
    config: KubeConfig,
    private readonly onCall: CallWatcher = () => {},
  ) {
    this.objects = config.makeApiClient(CustomObjectsApi);
    this.core = config.makeApiClient(CoreV1Api);
  }

  /** Every object of a kind, with the version of the list. Throws API_SERVER. */
  async list(kind: Kind): Promise<{ items: LiveObject[]; metadata: { resourceVersion: string } }> {
    const about = { group: apiGroup, version: apiVersionName, resourcePlural: namesOf(kind).plural };
    const listed = (await this.call("list", kind, () =>
      this.objects.listCustomObjectForAllNamespaces(about, within()),
    )) as { items: LiveObject[]; metadata: { resourceVersion: string } };
    // Items of a list do not say what they are.
    const items = listed.items.map((item) => ({ ...item, apiVersion: `${apiGroup}/${apiVersionName}`, kind }));
    return { items, metadata: listed.metadata };
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
      const object = (await this.send(write)) as LiveObject;
      return object.metadata.uid === undefined ? { kind: "gone" } : { kind: "written", object };
    } catch (error) {
      const status = error instanceof CapstanError ? statusOf(error.cause) : 0;
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

  private async call<T>(
    verb: Parameters<CallWatcher>[0]["verb"],
    subject: string,
    request: () => Promise<T>,
  ): Promise<T> {
    const [kind = ""] = subject.split(" ");
    try {
      const answer = await request();
      this.onCall({ verb, kind, status: 200 });
      return answer;
    } catch (error) {
      const status = statusOf(error);
      this.onCall({ verb, kind, status });
      throw refused(verb, subject, error);
    }
  }
}

const fieldManager = "capstan";

/** A deadline for this one request, since the client has none of its own, and how its body is meant. */
function within(contentType = "application/json"): ConfigurationOptions {
  const { middleware = [], ...rest } = setHeaderOptions("Content-Type", contentType);
  const timed = middleware.map((one) => ({
    pre: (context: RequestContext) => {
      context.setSignal(AbortSignal.timeout(answerTimeoutMs));
      return one.pre(context);
    },
    post: (context: ResponseContext) => one.post(context),
  }));
  return { ...rest, middleware: timed };
}

function placeOf({ kind, metadata }: { kind: Kind; metadata: { namespace: string } }) {
  const { plural } = namesOf(kind);
  return { group: apiGroup, version: apiVersionName, plural, namespace: metadata.namespace };
}

function namedPlaceOf(object: LiveObject) {
  return { ...placeOf(object), name: object.metadata.name };
}

function statusOf(error: unknown): number {
  return error instanceof ApiException ? error.code : 0;
}

function refused(verb: string, subject: string, error: unknown): CapstanError {
  const status = statusOf(error);
  const said = error instanceof ApiException ? messageIn(error.body) : messageOf(error);
  return new CapstanError({
    code: "API_SERVER",
    source: "engine",
    subject,
    message: `cannot ${verb} ${subject}: ${said}`,
    ...(status === 403 && { hint: "give the account of this process that right (deploy/kubernetes)" }),
    retryable: status === 0 || status === 429 || status >= 500,
    cause: error,
  });
}

/** An API server answers with a Status object, as text. */
function messageIn(body: unknown): string {
  try {
    const status: unknown = typeof body === "string" ? JSON.parse(body) : body;
    return String((status as { message?: unknown }).message ?? body);
  } catch {
    return String(body);
  }
}
