import type { MemberPath, Violation } from "../api/diagnostic-codes.js";
import { isJsonObject, type JsonObject } from "../api/json.js";
import { kinds, namesOf } from "../api/kind-names.js";
import { apiVersion, type Kind } from "../api/schema.js";
import type { ParsedDocument } from "./parse.js";

/** What a list may have beside its items. */
const listMembers = ["apiVersion", "kind", "metadata", "items"];

/** The items of a list as documents of their own, and what is wrong with the list itself. */
interface Unfolded {
  readonly documents: readonly ParsedDocument[];
  readonly violations: readonly Violation[];
}

/**
 * The objects of a document: those of a List as kubectl prints it, or of a list of one kind such as MachineList, whose
 * items may leave out apiVersion and kind. A document that is no list is its only object. Lists may hold lists. Pure but
 * for items that get what they leave out.
 */
export function unfold(document: ParsedDocument): Unfolded {
  const { value } = document;
  const list = isJsonObject(value) ? listIn(value) : undefined;
  if (list === undefined) return { documents: [document], violations: [] };
  const { fields, of } = list;
  const { items } = fields;
  const violations = [...unknownMembers(fields), ...partialList(fields)];
  if (!Array.isArray(items)) {
    const summary = "a list must have items, and they must be a list";
    const wrong: Violation = { code: "FIELD_MISSING", path: ["items"], summary };
    return { documents: [], violations: [...violations, wrong] };
  }
  const inner = (items as unknown[]).map((item, index) => {
    if (of !== undefined && isJsonObject(item)) complete(item, of);
    return unfold(itemOf(document, item, ["items", index]));
  });
  return {
    documents: inner.flatMap(({ documents }) => documents),
    violations: [
      ...violations,
      ...inner.flatMap((one, index) =>
        one.violations.map((wrong) => ({ ...wrong, path: ["items", index, ...wrong.path] })),
      ),
    ],
  };
}

/** A list, and the kind of its items where that is told. */
function listIn(
  fields: JsonObject,
): { readonly fields: JsonObject; readonly of?: Kind } | undefined {
  if (fields["apiVersion"] === "v1" && fields["kind"] === "List") return { fields };
  if (fields["apiVersion"] !== apiVersion) return undefined;
  const of = kinds.find((kind) => namesOf(kind).listKind === fields["kind"]);
  return of === undefined ? undefined : { fields, of };
}

function complete(item: JsonObject, kind: Kind): void {
  Object.assign(item, { apiVersion: item["apiVersion"] ?? apiVersion, kind: item["kind"] ?? kind });
}

/** An item's paths go on from where it stands in the list. */
function itemOf(document: ParsedDocument, value: unknown, at: MemberPath): ParsedDocument {
  return {
    value,
    positionOf: (path) => document.positionOf([...at, ...path]),
    writtenAt: (path) => document.writtenAt([...at, ...path]),
    unresolved: document.unresolved
      .filter((path) => at.every((part, index) => path[index] === part))
      .map((path) => path.slice(at.length)),
  };
}

function unknownMembers(fields: JsonObject): Violation[] {
  return Object.keys(fields)
    .filter((name) => !listMembers.includes(name))
    .map((name) => ({
      code: "FIELD_UNKNOWN",
      path: [name],
      summary: `unknown field ${JSON.stringify(name)}`,
      hint: "a list has items",
    }));
}

/** What is missing from a page would look like objects that were taken away. */
function partialList({ metadata }: JsonObject): Violation[] {
  if (!isJsonObject(metadata) || !metadata["continue"]) return [];
  const summary = "this is a part of a list: it goes on elsewhere";
  const hint = "get the whole list, as kubectl get --chunk-size=0 does";
  return [{ code: "NOT_ALLOWED", path: ["metadata", "continue"], summary, hint }];
}
