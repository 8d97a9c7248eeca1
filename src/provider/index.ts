// `capstan/provider`: what a provider of one's own is written with. docs/providers.md is its guide,
// `capstan/provider/conformance` its test.

export { CapstanError, type ErrorDetails, isCapstanError } from "../api/error.js";
export type { FailureDomains } from "../api/failure-domains.js";
export type { Json, JsonObject } from "../api/json.js";
export type {
  IdleMember,
  IgnorableField,
  MachineOffers,
  ProviderSpecs,
  RuntimeOffer,
  ServedVersion,
} from "../api/provider-specs.js";
export type { ClusterNetwork, ClusterObject, MachineSpec } from "../api/types.js";
export { holdsUnknown } from "../api/unknown.js";
export { userDataFields } from "../api/user-data-fields.js";
export { type GraphNode, keyOf, type NodeKey, nodeKey, type Ref, refTo } from "../graph/graph.js";
export { systemClock } from "./clock.js";
export { defineProvider } from "./define.js";
export {
  type ExternalResource,
  type KindDefinition,
  type MachineCalls,
  type ProviderDefinition,
  type SharedPart,
  type SharedResource,
} from "./definition.js";
export {
  type FieldChange,
  type FieldRule,
  type FieldRules,
  immutableFields,
  verdictByField,
} from "./fields.js";
export { hostSpecOf, nodeFields, userDataRules } from "./host-spec.js";
export { markedCalls, type MarkedKind, type MarkedPage, type MarkQuery } from "./marked-calls.js";
export { type OlderVersionDefinition } from "./older-versions.js";
export type {
  CallContext,
  CallRate,
  Clock,
  CloudIdentity,
  CloudTiming,
  CompiledParts,
  CreateContext,
  Failure,
  FetchObstacle,
  Found,
  HostCommands,
  Identity,
  InfrastructureProvider,
  InventoryScope,
  KindTiming,
  KeptSecret,
  LookupInputs,
  LookupQuestion,
  MachineToCompile,
  NodeReport,
  Observed,
  Phase,
  AcceptedRemoval,
  RemovalAnswer,
  PlannedResource,
  PlannedStep,
  PreflightFinding,
  Presence,
  ProviderContext,
  ProviderModule,
  ResourceHandler,
  Satellite,
  SecretHost,
  SecretStore,
  SoftwareSource,
  UserData,
  UserDataFormat,
  UserDataTerms,
  Verdict,
  Wanted,
  LeftoverCalls,
} from "./port.js";
export type { Leftover, LeftoverPlace, LeftoverScope } from "./leftovers.js";
export {
  type ClusterSpecDefinition,
  type MachineSpecDefinition,
  type SpecDefinition,
} from "./spec-schema.js";
export { defaultTiming } from "./timing.js";
