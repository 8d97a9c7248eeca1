import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { findMoto } from "#moto";
import type { XmlTree } from "../xml-tree.js";

interface Shape {
  readonly type: string;
  readonly members?: Readonly<
    Record<string, { readonly shape: string; readonly locationName?: string }>
  >;
  readonly member?: { readonly shape: string };
  readonly enum?: readonly string[];
}

interface Model {
  readonly operations: Readonly<Record<string, { readonly output?: { readonly shape: string } }>>;
  readonly shapes: Readonly<Record<string, Shape>>;
}

/** AWS's own description of a service, as botocore has it, which comes with moto. */
export class ServiceModel {
  private readonly model: Model;

  constructor(service: string) {
    const python = findMoto(process.env);
    assert.ok(python !== undefined, "no moto: run npm test, which installs it from PyPI");
    const lib = join(dirname(python), "..", "lib");
    const [version = ""] = readdirSync(lib).filter((name) => name.startsWith("python3"));
    const folder = join(lib, version, "site-packages", "botocore", "data", service);
    const newest = readdirSync(folder).sort().at(-1) ?? "";
    const file = join(folder, newest, "service-2.json");
    const text = existsSync(file) ? readFileSync(file) : gunzipSync(readFileSync(`${file}.gz`));
    this.model = JSON.parse(text.toString("utf8")) as Model;
  }

  has(action: string): boolean {
    return this.model.operations[action] !== undefined;
  }

  /** A line for everything in an answer that the service does not have, or that is of another type. */
  strangeIn(action: string, answer: XmlTree): string[] {
    const output = this.model.operations[action]?.output;
    // Calls without an answer of their own are answered with `return`.
    if (output === undefined) {
      return Object.keys(answer).filter(
        (name) => name !== "requestId" && name !== "return" && answer !== "",
      );
    }
    return this.strange(output.shape, answer, action, ["requestId", "return", "ResponseMetadata"]);
  }

  private strange(
    shapeName: string,
    value: unknown,
    path: string,
    besides: readonly string[] = [],
  ): string[] {
    const shape = this.model.shapes[shapeName];
    if (shape === undefined) return [`${path}: no shape ${shapeName}`];
    switch (shape.type) {
      case "structure":
        return this.strangeMembers(shape, value, path, besides);
      case "list":
        if (value === "") return [];
        if (!Array.isArray(value)) return [`${path}: no list`];
        return value.flatMap((one, index) =>
          this.strange(shape.member?.shape ?? "", one, `${path}.${index}`),
        );
      default:
        return fits(shape, value) ? [] : [`${path}: ${JSON.stringify(value)} is no ${shape.type}`];
    }
  }

  private strangeMembers(
    shape: Shape,
    value: unknown,
    path: string,
    besides: readonly string[],
  ): string[] {
    if (value === "") return [];
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return [`${path}: no structure`];
    const members = new Map(
      Object.entries(shape.members ?? {}).map(([name, member]) => [
        member.locationName ?? name,
        member.shape,
      ]),
    );
    return Object.entries(value).flatMap(([name, inner]) => {
      if (besides.includes(name)) return [];
      const known = members.get(name);
      return known === undefined
        ? [`${path}.${name}: unknown`]
        : this.strange(known, inner, `${path}.${name}`);
    });
  }
}

function fits(shape: Shape, value: unknown): boolean {
  const text = String(value);
  switch (shape.type) {
    case "boolean":
      return text === "true" || text === "false";
    case "integer":
    case "long":
      return /^-?\d+$/.test(text);
    case "double":
    case "float":
      return Number.isFinite(Number(text));
    case "timestamp":
      return typeof value === "number" || !Number.isNaN(Date.parse(text));
    default:
      return (
        typeof value === "string" &&
        (shape.enum === undefined || value === "" || shape.enum.includes(value))
      );
  }
}
