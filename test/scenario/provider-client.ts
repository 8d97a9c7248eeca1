import * as grpc from "@grpc/grpc-js";
import structProto from "google-protobuf/google/protobuf/struct_pb.js";
import providerRpc from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import providerProto from "@pulumi/pulumi/proto/provider_pb.js";
import statusProto from "@pulumi/pulumi/proto/status_pb.js";

export type ClientProperties = Readonly<Record<string, unknown>>;

/** What a provider answered: a result, or an error as the engine would understand it. */
export type Answer =
  | { readonly result: ClientProperties }
  | {
      readonly error: { readonly code: number; readonly message: string };
      /** The resource exists although the call failed: ErrorResourceInitFailed. */
      readonly unfinished?: { readonly id: string; readonly properties: ClientProperties };
    };

interface Message {
  toObject(): object;
}

/** Speaks to a resource provider as Pulumi's engine does. */
export class ProviderClient {
  private readonly client: grpc.Client;

  constructor(
    port: number,
    private readonly urn: string,
  ) {
    const Client = (
      providerRpc as unknown as { ResourceProviderClient: grpc.ServiceClientConstructor }
    ).ResourceProviderClient;
    this.client = new Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  }

  close(): void {
    this.client.close();
  }

  check(olds: ClientProperties, news: ClientProperties): Promise<Answer> {
    const request = new providerProto.CheckRequest();
    request.setUrn(this.urn);
    request.setOlds(toStruct(olds));
    request.setNews(toStruct(news));
    return this.ask("check", request, (response: providerProto.CheckResponse) => ({
      inputs: fromStruct(response.getInputs()),
      failures: response.getFailuresList().map((one) => [one.getProperty(), one.getReason()]),
    }));
  }

  diff(id: string, olds: ClientProperties, news: ClientProperties): Promise<Answer> {
    const request = new providerProto.DiffRequest();
    request.setUrn(this.urn);
    request.setId(id);
    request.setOlds(toStruct(olds));
    request.setNews(toStruct(news));
    return this.ask("diff", request, (response: providerProto.DiffResponse) => ({
      changes: response.getChanges(),
      replaces: response.getReplacesList(),
      deleteBeforeReplace: response.getDeletebeforereplace(),
    }));
  }

  create(properties: ClientProperties): Promise<Answer> {
    const request = new providerProto.CreateRequest();
    request.setUrn(this.urn);
    request.setProperties(toStruct(properties));
    return this.ask("create", request, (response: providerProto.CreateResponse) => ({
      id: response.getId(),
      properties: fromStruct(response.getProperties()),
    }));
  }

  read(id: string, properties: ClientProperties): Promise<Answer> {
    const request = new providerProto.ReadRequest();
    request.setUrn(this.urn);
    request.setId(id);
    request.setProperties(toStruct(properties));
    return this.ask("read", request, (response: providerProto.ReadResponse) => ({
      id: response.getId(),
      // Without an id the resource is gone, and the engine looks no further.
      ...(response.getId() !== "" && {
        properties: fromStruct(response.getProperties()),
        inputs: fromStruct(response.getInputs()),
      }),
    }));
  }

  update(id: string, olds: ClientProperties, news: ClientProperties): Promise<Answer> {
    const request = new providerProto.UpdateRequest();
    request.setUrn(this.urn);
    request.setId(id);
    request.setOlds(toStruct(olds));
    request.setNews(toStruct(news));
    return this.ask("update", request, (response: providerProto.UpdateResponse) => ({
      properties: fromStruct(response.getProperties()),
    }));
  }

  delete(id: string, properties: ClientProperties): Promise<Answer> {
    const request = new providerProto.DeleteRequest();
    request.setUrn(this.urn);
    request.setId(id);
    request.setProperties(toStruct(properties));
    return this.ask("delete", request, () => ({}));
  }

  /** Each method answers with a message of its own, which its `read` knows. */
  private ask(
    method: string,
    request: Message,
    read: (response: never) => ClientProperties,
  ): Promise<Answer> {
    const methods = this.client as unknown as Record<
      string,
      (
        request: Message,
        options: grpc.CallOptions,
        done: (error: grpc.ServiceError | null, response: never) => void,
      ) => void
    >;
    return new Promise((resolve) => {
      methods[method]?.call(
        this.client,
        request,
        { deadline: Date.now() + 30_000 },
        (error, response) => resolve(error === null ? { result: read(response) } : failure(error)),
      );
    });
  }
}

function failure({ code, details, metadata }: grpc.ServiceError): Answer {
  const error = { code, message: details };
  const [packed] = metadata.get("grpc-status-details-bin");
  if (packed === undefined) return { error };
  const status = statusProto.Status.deserializeBinary(packed as Uint8Array);
  const failed = status
    .getDetailsList()[0]
    ?.unpack(
      (bytes) => providerProto.ErrorResourceInitFailed.deserializeBinary(bytes),
      "pulumirpc.ErrorResourceInitFailed",
    );
  if (!failed) return { error };
  const properties = fromStruct(failed.getProperties());
  return { error, unfinished: { id: failed.getId(), properties } };
}

function toStruct(value: ClientProperties): structProto.Struct {
  return structProto.Struct.fromJavaScript(
    value as Parameters<typeof structProto.Struct.fromJavaScript>[0],
  );
}

function fromStruct(struct: structProto.Struct | undefined): ClientProperties {
  return struct?.toJavaScript() ?? {};
}
