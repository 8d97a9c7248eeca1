import * as grpc from "@grpc/grpc-js";
import emptyProto from "google-protobuf/google/protobuf/empty_pb.js";
import structProto from "google-protobuf/google/protobuf/struct_pb.js";
import languageRpc from "@pulumi/pulumi/proto/language_grpc_pb.js";
import languageProto from "@pulumi/pulumi/proto/language_pb.js";
import pluginProto from "@pulumi/pulumi/proto/plugin_pb.js";
import resourceRpc from "@pulumi/pulumi/proto/resource_grpc_pb.js";
import resourceProto from "@pulumi/pulumi/proto/resource_pb.js";
import { messageOf } from "../../api/error.js";
import { isJsonObject, type Json, type JsonObject } from "../../api/json.js";
import { listenToOwnUser } from "../../dynamic/own-user-server.js";
import { providerProperty, providerText, typeTokenOf } from "../../dynamic/protocol.js";
import { unknownValue } from "../../api/unknown.js";
import { type NodeKey, type Ref, resolveRefs } from "../../graph/graph.js";
import {
  componentToken,
  type PassProgram,
  type Registration,
} from "../../transaction/registration.js";

/** Marks a secret on the wire. Source: https://github.com/pulumi/pulumi/blob/v3.259.0/sdk/nodejs/runtime/rpc.ts */
const signature = "4dabf18193072939515e22adb298388d";
const secretSignature = "1b47061264138c4ac30d75fd1eb44270";

const maxMessageBytes = 400 * 1024 * 1024;

interface ProgramServer {
  /** The value for the CLI's --client flag. */
  readonly address: string;
  close(): void;
}

interface Registered {
  readonly urn: string;
  readonly id: string;
  readonly outputs: JsonObject;
}

/**
 * Serves one program to one engine run over Pulumi's language protocol: "register this list". It
 * speaks to the resource monitor directly, so it shares no process-wide state with other runs
 * (architecture rule 5.8) and starts no second Node.js.
 */
export async function serveProgram(program: PassProgram): Promise<ProgramServer> {
  const server = new grpc.Server({ "grpc.max_receive_message_length": maxMessageBytes });
  server.addService(
    (languageRpc as unknown as { LanguageRuntimeService: grpc.ServiceDefinition })
      .LanguageRuntimeService,
    {
      handshake: (_call: unknown, answer: grpc.sendUnaryData<unknown>) =>
        answer(null, new languageProto.LanguageHandshakeResponse()),
      getPluginInfo: (_call: unknown, answer: grpc.sendUnaryData<unknown>) => {
        const info = new pluginProto.PluginInfo();
        info.setVersion("1.0.0");
        answer(null, info);
      },
      getRequiredPlugins: (_call: unknown, answer: grpc.sendUnaryData<unknown>) =>
        answer(null, new languageProto.GetRequiredPluginsResponse()),
      getRequiredPackages: (_call: unknown, answer: grpc.sendUnaryData<unknown>) =>
        answer(null, new languageProto.GetRequiredPackagesResponse()),
      cancel: (_call: unknown, answer: grpc.sendUnaryData<unknown>) =>
        answer(null, new emptyProto.Empty()),
      run: (
        call: grpc.ServerUnaryCall<languageProto.RunRequest, languageProto.RunResponse>,
        answer: grpc.sendUnaryData<languageProto.RunResponse>,
      ) => {
        const response = new languageProto.RunResponse();
        runProgram(program, call.request).then(
          () => answer(null, response),
          (error: unknown) => {
            response.setError(messageOf(error));
            // The engine reports failed steps itself; what else went wrong is said here.
            response.setBail(error instanceof StepFailed);
            answer(null, response);
          },
        );
      },
    },
  );
  const { port, close } = await listenToOwnUser(server);
  return { address: `127.0.0.1:${port}`, close };
}

class StepFailed extends Error {}

async function runProgram(program: PassProgram, request: languageProto.RunRequest): Promise<void> {
  const Monitor = (
    resourceRpc as unknown as { ResourceMonitorClient: grpc.ServiceClientConstructor }
  ).ResourceMonitorClient;
  const monitor = new Monitor(request.getMonitorAddress(), grpc.credentials.createInsecure(), {
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.max_send_message_length": maxMessageBytes,
  });
  try {
    const stackName = `${request.getProject()}-${request.getStack()}`;
    const stack = await register(monitor, stackRequest(stackName));
    await registerAll(monitor, program.registrations, stack.urn);
    await registerOutputs(monitor, stack.urn, program.stackOutputs);
  } finally {
    monitor.close();
  }
}

/** Registers each resource as soon as everything it depends on is done; fails with the first error. */
async function registerAll(
  monitor: grpc.Client,
  registrations: readonly Registration[],
  stackUrn: string,
): Promise<void> {
  const registered = new Map<NodeKey, Promise<Registered>>();
  const registerOne = async (registration: Registration): Promise<Registered> => {
    const known = new Map<NodeKey, Registered>();
    for (const key of registration.dependsOn) {
      const dependency = await registered.get(key);
      if (dependency !== undefined) known.set(key, dependency);
    }
    return register(monitor, requestOf(registration, known, stackUrn));
  };
  for (const registration of registrations) {
    const done = registerOne(registration);
    done.catch(() => {}); // Reported below, together; not as an unhandled rejection.
    registered.set(registration.key, done);
  }
  const results = await Promise.allSettled(registered.values());
  const failure = results.find((result) => result.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}

function stackRequest(name: string): resourceProto.RegisterResourceRequest {
  const request = new resourceProto.RegisterResourceRequest();
  request.setType("pulumi:pulumi:Stack");
  request.setName(name);
  request.setObject(structProto.Struct.fromJavaScript({}));
  return request;
}

function requestOf(
  registration: Registration,
  known: ReadonlyMap<NodeKey, Registered>,
  stackUrn: string,
): resourceProto.RegisterResourceRequest {
  const { type, kind, name, parent } = registration;
  const request = new resourceProto.RegisterResourceRequest();
  request.setType(type === "component" ? componentToken(kind) : typeTokenOf(kind));
  request.setName(name);
  request.setParent(parent === undefined ? stackUrn : parentUrn(parent, known));
  request.setCustom(type === "resource");
  request.setDependenciesList([...known.values()].map(({ urn }) => urn));
  request.setObject(structOf(inputsOf(registration, known)));
  request.setAdditionalsecretoutputsList([...(registration.secretOutputs ?? [])]);
  request.setAcceptsecrets(true);
  request.setAcceptresources(true);
  request.setSupportspartialvalues(true);
  request.setSupportsresultreporting(true);
  request.setAliasspecs(true);
  return request;
}

/** Under another parent a resource would be another one, and its old self deleted. */
function parentUrn(parent: NodeKey, known: ReadonlyMap<NodeKey, Registered>): string {
  const found = known.get(parent);
  if (found === undefined) throw new Error(`${parent} is registered too late to be a parent`);
  return found.urn;
}

function inputsOf(registration: Registration, known: ReadonlyMap<NodeKey, Registered>): JsonObject {
  if (registration.type === "component") return registration.inputs;
  const resolved = resolveRefs(registration.inputs, (ref) => outputOf(known.get(ref.$ref), ref));
  const secrets = registration.secretInputs.flatMap((key) =>
    resolved[key] === undefined
      ? []
      : [[key, { [signature]: secretSignature, value: resolved[key] }] as const],
  );
  return {
    ...resolved,
    ...Object.fromEntries(secrets),
    [providerProperty]: providerText(registration.kind),
  };
}

/** The id of a resource or a member of its status; unknown while a preview has not made it yet. */
function outputOf(resource: Registered | undefined, ref: Ref): Json {
  if (resource === undefined) return unknownValue;
  if (ref.output === "id") return resource.id === "" ? unknownValue : resource.id;
  const status = resource.outputs["status"] as JsonObject | undefined;
  return status?.[ref.output] ?? unknownValue;
}

async function register(
  monitor: grpc.Client,
  request: resourceProto.RegisterResourceRequest,
): Promise<Registered> {
  const response = await call<resourceProto.RegisterResourceResponse>(
    monitor,
    "registerResource",
    request,
  );
  if (response.getResult() !== resourceProto.Result.SUCCESS) {
    throw new StepFailed(`${request.getName()} was not applied`);
  }
  if (!request.getCustom() && request.getType() !== "pulumi:pulumi:Stack") {
    await registerOutputs(monitor, response.getUrn(), {});
  }
  return {
    urn: response.getUrn(),
    id: response.getId(),
    outputs: inClear(response.getObject()?.toJavaScript() ?? {}) as JsonObject,
  };
}

/** Secrets replaced by their values. What takes one of them is registered as a secret itself (`withSecretFields`). */
function inClear(value: Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => inClear(item));
  if (!isJsonObject(value)) return value;
  if (value[signature] === secretSignature) return inClear(value["value"] ?? null);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, inClear(member)]));
}

async function registerOutputs(
  monitor: grpc.Client,
  urn: string,
  outputs: JsonObject,
): Promise<void> {
  const request = new resourceProto.RegisterResourceOutputsRequest();
  request.setUrn(urn);
  request.setOutputs(structOf(outputs));
  await call(monitor, "registerResourceOutputs", request);
}

function structOf(value: JsonObject): structProto.Struct {
  return structProto.Struct.fromJavaScript(value);
}

function call<Response>(monitor: grpc.Client, method: string, request: unknown): Promise<Response> {
  const methods = monitor as unknown as Record<
    string,
    (request: unknown, done: (error: grpc.ServiceError | null, response: Response) => void) => void
  >;
  return new Promise((resolve, reject) => {
    methods[method]?.call(monitor, request, (error, response) =>
      error === null ? resolve(response) : reject(error),
    );
  });
}
