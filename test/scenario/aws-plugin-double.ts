import * as grpc from "@grpc/grpc-js";
import emptyProto from "google-protobuf/google/protobuf/empty_pb.js";
import structProto from "google-protobuf/google/protobuf/struct_pb.js";
import pluginProto from "@pulumi/pulumi/proto/plugin_pb.js";
import providerRpc from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import providerProto from "@pulumi/pulumi/proto/provider_pb.js";
import type { JsonObject } from "../../src/api/json.js";
import { unknownValue } from "../../src/api/unknown.js";
import { listenToOwnUser } from "../../src/dynamic/own-user-server.js";

// Stands for the binary of Pulumi's AWS plugin, which no package registry has: it keeps what it is given and makes ids.
// What AWS would say to it is not its business.

/** A resource as the double keeps it. */
interface KeptResource {
  readonly id: string;
  /** "aws:ec2/vpc:Vpc". */
  readonly type: string;
  readonly name: string;
  readonly inputs: JsonObject;
}

/** A change that the double was asked for. */
interface PluginCall {
  readonly call: "create" | "update" | "delete";
  readonly type: string;
  readonly name: string;
  readonly id: string;
}

/** Inputs that ask for a new resource when they change, by type. */
const replacing: Readonly<Record<string, readonly string[]>> = {
  "aws:ec2/vpc:Vpc": ["cidrBlock"],
  "aws:ec2/subnet:Subnet": ["vpcId", "cidrBlock", "availabilityZone"],
};

/** What is called by its name: its id is that. */
const namedBy: Readonly<Record<string, string>> = {
  "aws:s3/bucket:Bucket": "bucket",
  "aws:iam/role:Role": "name",
  "aws:iam/instanceProfile:InstanceProfile": "name",
  "aws:kms/alias:Alias": "name",
  "aws:dynamodb/table:Table": "name",
};

/** Outputs that only the cloud tells. */
function computed(type: string, id: string): JsonObject {
  const arn = `arn:aws:double:eu-north-1:123456789012:${type.split(":").at(-1) ?? ""}/${id}`;
  const more = type === "aws:ec2/eip:Eip" ? { allocationId: id, publicIp: "203.0.113.7" } : {};
  return { arn, id, ...more };
}

/** Answers of functions that programs ask. */
const answers: Readonly<Record<string, JsonObject>> = {
  "aws:index/getAvailabilityZones:getAvailabilityZones": {
    id: "eu-north-1",
    names: ["eu-north-1a", "eu-north-1b", "eu-north-1c"],
    zoneIds: ["eun1-az1", "eun1-az2", "eun1-az3"],
    groupNames: ["eu-north-1"],
  },
  "aws:index/getCallerIdentity:getCallerIdentity": {
    id: "123456789012",
    accountId: "123456789012",
    arn: "arn:aws:iam::123456789012:user/test",
    userId: "AIDA",
  },
  "aws:index/getPartition:getPartition": {
    id: "aws",
    partition: "aws",
    dnsSuffix: "amazonaws.com",
    reverseDnsPrefix: "com.amazonaws",
  },
  "aws:index/getRegion:getRegion": { id: "eu-north-1", name: "eu-north-1", region: "eu-north-1" },
};

export class AwsPluginDouble {
  readonly kept = new Map<string, KeptResource>();
  readonly calls: PluginCall[] = [];
  /** Told of each call as it is carried out. */
  onCall: (call: PluginCall) => void = () => {};
  /** Who makes resources of a type where something else is to see them, by type: answers the id. */
  readonly makers = new Map<string, (inputs: JsonObject) => Promise<string>>();
  /** What creations of a type wait for, by type. */
  readonly gates = new Map<string, () => Promise<unknown>>();
  private minted = 0;
  private listening: { readonly port: number; readonly close: () => void } | undefined;

  static async start(): Promise<AwsPluginDouble> {
    const double = new AwsPluginDouble();
    const server = new grpc.Server();
    server.addService(
      (providerRpc as unknown as { ResourceProviderService: grpc.ServiceDefinition })
        .ResourceProviderService,
      double.implementation(),
    );
    double.listening = await listenToOwnUser(server);
    return double;
  }

  close(): void {
    this.listening?.close();
  }

  /** What makes Pulumi's engine use it. */
  get env(): Record<string, string> {
    return {
      PULUMI_DEBUG_PROVIDERS: `aws:${this.listening?.port ?? 0}`,
      AWS_REGION: "eu-north-1",
    };
  }

  /** The inputs of what is there, by type. */
  ofType(type: string): readonly KeptResource[] {
    return [...this.kept.values()].filter((one) => one.type === type);
  }

  private implementation() {
    const empty = answering(async () => new emptyProto.Empty());
    return {
      getPluginInfo: answering(async () => {
        const info = new pluginProto.PluginInfo();
        info.setVersion("7.48.0");
        return info;
      }),
      attach: empty,
      cancel: empty,
      handshake: answering(async () => new providerProto.ProviderHandshakeResponse()),
      configure: answering(async () => {
        const response = new providerProto.ConfigureResponse();
        response.setSupportspreview(true);
        return response;
      }),
      checkConfig: answering(async (request: providerProto.CheckRequest) => checked(request)),
      diffConfig: answering(async () => new providerProto.DiffResponse()),
      check: answering(async (request: providerProto.CheckRequest) => checked(request)),
      diff: answering(async (request: providerProto.DiffRequest) => diffOf(request)),
      create: answering((request: providerProto.CreateRequest) => this.create(request)),
      update: answering(async (request: providerProto.UpdateRequest) => this.update(request)),
      read: answering(async (request: providerProto.ReadRequest) => this.read(request)),
      delete: answering(async (request: providerProto.DeleteRequest) => this.delete(request)),
      invoke: answering(async (request: providerProto.InvokeRequest) => invoked(request)),
      call: unimplemented,
      construct: unimplemented,
      getSchema: unimplemented,
      getMapping: unimplemented,
      getMappings: unimplemented,
      parameterize: unimplemented,
      list: unimplemented,
    };
  }

  private async create(request: providerProto.CreateRequest) {
    const { type, name } = placeOf(request);
    const inputs = toObject(request.getProperties());
    const response = new providerProto.CreateResponse();
    if (request.getPreview()) {
      const untold = Object.fromEntries(
        Object.keys(computed(type, "")).map((key) => [key, unknownValue]),
      );
      response.setProperties(toStruct({ ...untold, ...inputs }));
      return response;
    }
    await this.gates.get(type)?.();
    const id = (await this.makers.get(type)?.(inputs)) ?? this.idOf(type, inputs);
    this.kept.set(id, { id, type, name, inputs });
    this.note("create", { type, name }, id);
    response.setId(id);
    response.setProperties(toStruct({ ...computed(type, id), ...inputs }));
    return response;
  }

  private update(request: providerProto.UpdateRequest) {
    const { type, name } = placeOf(request);
    const id = request.getId();
    const inputs = toObject(request.getNews());
    if (!request.getPreview()) {
      this.kept.set(id, { id, type, name, inputs });
      this.note("update", { type, name }, id);
    }
    const response = new providerProto.UpdateResponse();
    response.setProperties(toStruct({ ...computed(type, id), ...inputs }));
    return response;
  }

  private read(request: providerProto.ReadRequest) {
    const response = new providerProto.ReadResponse();
    const found = this.kept.get(request.getId());
    if (found === undefined) return response;
    response.setId(found.id);
    response.setInputs(toStruct(found.inputs));
    response.setProperties(toStruct({ ...computed(found.type, found.id), ...found.inputs }));
    return response;
  }

  private delete(request: providerProto.DeleteRequest) {
    const id = request.getId();
    this.kept.delete(id);
    this.note("delete", placeOf(request), id);
    return new emptyProto.Empty();
  }

  private idOf(type: string, inputs: JsonObject): string {
    const named = inputs[namedBy[type] ?? ""];
    this.minted += 1;
    const kind = (type.split(":").at(-1) ?? "").toLowerCase();
    return typeof named === "string" ? named : `${kind}-${this.minted}`;
  }

  private note(call: PluginCall["call"], place: { type: string; name: string }, id: string): void {
    const made = { call, ...place, id };
    this.calls.push(made);
    this.onCall(made);
  }
}

function checked(request: providerProto.CheckRequest) {
  const response = new providerProto.CheckResponse();
  response.setInputs(request.getNews());
  return response;
}

function diffOf(request: providerProto.DiffRequest) {
  const [olds, news] = [toObject(request.getOldInputs()), toObject(request.getNews())];
  const changed = [...new Set([...Object.keys(olds), ...Object.keys(news)])].filter(
    (key) => JSON.stringify(olds[key]) !== JSON.stringify(news[key]),
  );
  const { type } = placeOf(request);
  const { DIFF_SOME, DIFF_NONE } = providerProto.DiffResponse.DiffChanges;
  const response = new providerProto.DiffResponse();
  response.setChanges(changed.length > 0 ? DIFF_SOME : DIFF_NONE);
  response.setDiffsList(changed);
  response.setReplacesList(changed.filter((key) => (replacing[type] ?? []).includes(key)));
  return response;
}

function invoked(request: providerProto.InvokeRequest) {
  const answer = answers[request.getTok()];
  if (answer === undefined) throw new Error(`the double has no answer for ${request.getTok()}`);
  const response = new providerProto.InvokeResponse();
  response.setReturn(toStruct(answer));
  return response;
}

function placeOf(request: { getUrn(): string }) {
  const [, , types = "", name = ""] = request.getUrn().split("::");
  return { type: types.split("$").at(-1) ?? "", name };
}

const unimplemented: grpc.handleUnaryCall<unknown, unknown> = (_call, callback) =>
  callback({ code: grpc.status.UNIMPLEMENTED, details: "the double does not offer it" });

function answering<Request, Response>(
  answer: (request: Request) => Promise<Response>,
): grpc.handleUnaryCall<Request, Response> {
  return (call, callback) => {
    answer(call.request).then(
      (response) => callback(null, response),
      (error: unknown) => callback({ code: grpc.status.UNKNOWN, details: String(error) }),
    );
  };
}

function toObject(struct: structProto.Struct | undefined): JsonObject {
  return struct?.toJavaScript() ?? {};
}

function toStruct(value: JsonObject): structProto.Struct {
  return structProto.Struct.fromJavaScript(value);
}
