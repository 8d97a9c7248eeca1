import * as grpc from "@grpc/grpc-js";
import anyProto from "google-protobuf/google/protobuf/any_pb.js";
import emptyProto from "google-protobuf/google/protobuf/empty_pb.js";
import structProto from "google-protobuf/google/protobuf/struct_pb.js";
import pluginProto from "@pulumi/pulumi/proto/plugin_pb.js";
import providerRpc from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import providerProto from "@pulumi/pulumi/proto/provider_pb.js";
import statusProto from "@pulumi/pulumi/proto/status_pb.js";
import { CapstanError, messageOf } from "../api/error.js";
import type { JsonObject } from "../api/json.js";
import { listenToOwnUser } from "./own-user-server.js";
import {
  type DynamicResource,
  kindOfToken,
  providerProperty,
  UnfinishedResource,
} from "./protocol.js";

/** Finds the resource that serves a kind; throws NOT_FOUND for a kind nobody serves. */
export type ResourceLookup = (kind: string) => DynamicResource;

interface AttachedServer {
  /** The value for PULUMI_DEBUG_PROVIDERS. */
  readonly debugProviders: string;
  readonly close: () => void;
}

type Unary<Request, Response> = (
  call: grpc.ServerUnaryCall<Request, Response>,
  callback: grpc.sendUnaryData<Response>,
) => void;

/**
 * Serves the "pulumi-nodejs" package to one engine run, in the place of the stock dynamic host
 * (architecture rule 5.6). It answers exactly what the stock host would answer, so that both can
 * work on one stack in turns; on top it passes on which properties change, and `onCancel` is told
 * when the engine is asked to stop.
 */
export async function serveAttached(
  lookup: ResourceLookup,
  onCancel: () => void,
): Promise<AttachedServer> {
  const server = new grpc.Server({ "grpc.max_receive_message_length": 400 * 1024 * 1024 });
  server.addService(
    (providerRpc as unknown as { ResourceProviderService: grpc.ServiceDefinition })
      .ResourceProviderService,
    implementation(lookup, onCancel),
  );
  const { port, close } = await listenToOwnUser(server);
  return { debugProviders: `pulumi-nodejs:${port}`, close };
}

// One gRPC service, method after method.
// eslint-disable-next-line max-lines-per-function
function implementation(lookup: ResourceLookup, onCancel: () => void) {
  const empty = () => new emptyProto.Empty();
  return {
    getPluginInfo: answering(async () => {
      const info = new pluginProto.PluginInfo();
      info.setVersion("1.0.0");
      return info;
    }),
    attach: answering(async () => empty()),
    cancel: answering(async () => {
      onCancel();
      return empty();
    }),
    handshake: answering(async () => {
      const response = new providerProto.ProviderHandshakeResponse();
      response.setAcceptSecrets(false);
      response.setAcceptResources(false);
      response.setAcceptOutputs(false);
      return response;
    }),
    configure: answering(async () => {
      const response = new providerProto.ConfigureResponse();
      response.setAcceptsecrets(false);
      return response;
    }),
    checkConfig: unimplemented,
    diffConfig: unimplemented,
    check: answering(async (request: providerProto.CheckRequest) => {
      const news = toObject(request.getNews());
      const { inputs, failures } = await resourceOf(lookup, request).check(
        toObject(request.getOlds()),
        news,
      );
      const response = new providerProto.CheckResponse();
      response.setInputs(toStruct(inputs));
      response.setFailuresList(
        failures.map(({ property, reason }) => {
          const failure = new providerProto.CheckFailure();
          failure.setProperty(property);
          failure.setReason(reason);
          return failure;
        }),
      );
      return response;
    }),
    diff: answering(async (request: providerProto.DiffRequest) => {
      const result = await resourceOf(lookup, request).diff(
        request.getId(),
        toObject(request.getOlds()),
        toObject(request.getNews()),
      );
      const { DIFF_SOME, DIFF_NONE } = providerProto.DiffResponse.DiffChanges;
      const response = new providerProto.DiffResponse();
      response.setChanges(result.changes ? DIFF_SOME : DIFF_NONE);
      response.setDiffsList([...new Set(result.paths.map((path) => path.split(".")[0] ?? path))]);
      response.setHasdetaileddiff(result.paths.length > 0);
      for (const path of result.paths) {
        const change = new providerProto.PropertyDiff();
        change.setKind(providerProto.PropertyDiff.Kind.UPDATE);
        response.getDetaileddiffMap().set(path, change);
      }
      return response;
    }),
    create: answering(async (request: providerProto.CreateRequest) => {
      const inputs = toObject(request.getProperties());
      const { id, outs } = await resourceOf(lookup, request).create(inputs);
      const response = new providerProto.CreateResponse();
      response.setId(id);
      response.setProperties(toStruct(withProvider(outs, inputs)));
      return response;
    }),
    read: answering(async (request: providerProto.ReadRequest) => {
      const recorded = toObject(request.getProperties());
      const result = await resourceOf(lookup, request).read(request.getId(), recorded);
      const response = new providerProto.ReadResponse();
      if (result.id === undefined) return response;
      response.setId(result.id);
      response.setProperties(toStruct(withProvider(result.props ?? {}, recorded)));
      if (result.inputs !== undefined) {
        response.setInputs(toStruct(withProvider(result.inputs, recorded)));
      }
      return response;
    }),
    update: answering(async (request: providerProto.UpdateRequest) => {
      const news = toObject(request.getNews());
      const { outs } = await resourceOf(lookup, request).update(
        request.getId(),
        toObject(request.getOlds()),
        news,
      );
      const response = new providerProto.UpdateResponse();
      response.setProperties(toStruct(withProvider(outs, news)));
      return response;
    }),
    delete: answering(async (request: providerProto.DeleteRequest) => {
      await resourceOf(lookup, request).delete(request.getId(), toObject(request.getProperties()));
      return empty();
    }),
    invoke: unimplemented,
    call: unimplemented,
    construct: unimplemented,
    getSchema: unimplemented,
    getMapping: unimplemented,
    getMappings: unimplemented,
    parameterize: unimplemented,
    list: unimplemented,
  };
}

const unimplemented: Unary<unknown, unknown> = (_call, callback) =>
  callback({ code: grpc.status.UNIMPLEMENTED, details: "not offered by this provider" });

function answering<Request, Response>(
  answer: (request: Request) => Promise<Response>,
): Unary<Request, Response> {
  return (call, callback) => {
    answer(call.request).then(
      (response) => callback(null, response),
      (error: unknown) => callback(toServiceError(error)),
    );
  };
}

function resourceOf(lookup: ResourceLookup, request: { getUrn(): string }): DynamicResource {
  const token = request.getUrn().split("::")[2]?.split("$").at(-1) ?? "";
  const kind = kindOfToken(token);
  if (kind !== undefined) return lookup(kind);
  throw new CapstanError({
    code: "NOT_FOUND",
    source: "engine",
    message: `cannot serve ${request.getUrn()}: its type is not one of this project`,
    hint: "a stack of a cluster holds nothing else; keep other dynamic resources in another stack",
  });
}

function toObject(struct: structProto.Struct | undefined): JsonObject {
  return struct?.toJavaScript() ?? {};
}

function toStruct(value: JsonObject): structProto.Struct {
  return structProto.Struct.fromJavaScript(value);
}

/** The dynamic host always keeps the code reference of the request, so we do too. */
function withProvider(properties: JsonObject, request: JsonObject): JsonObject {
  const provider = request[providerProperty];
  return provider === undefined ? properties : { ...properties, [providerProperty]: provider };
}

/**
 * Wire form of an error. A resource that exists but is not finished travels as
 * ErrorResourceInitFailed in the status details: the engine then records its id and properties.
 */
function toServiceError(error: unknown): Partial<grpc.StatusObject> {
  const message = messageOf(error);
  const base = { code: grpc.status.UNKNOWN, details: message };
  if (!(error instanceof UnfinishedResource)) return base;
  const failed = new providerProto.ErrorResourceInitFailed();
  failed.setId(error.id);
  failed.setProperties(toStruct(error.properties));
  failed.setReasonsList([...error.reasons]);
  const detail = new anyProto.Any();
  detail.pack(failed.serializeBinary(), "pulumirpc.ErrorResourceInitFailed");
  const status = new statusProto.Status();
  status.setCode(grpc.status.UNKNOWN);
  status.setMessage(message);
  status.addDetails(detail);
  const metadata = new grpc.Metadata();
  // Where gRPC for Go looks for structured details; grpc-js has no name for it.
  metadata.add("grpc-status-details-bin", Buffer.from(status.serializeBinary()));
  return { ...base, metadata };
}
