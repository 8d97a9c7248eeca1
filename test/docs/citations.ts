import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { repository } from "../scenario/sandbox.js";

/** A place that cites something of the documentation. */
export interface Citation {
  readonly kind: "law" | "rule" | "section" | "decision" | "path" | "source" | "link" | "document";
  /** Relative to the repository. */
  readonly file: string;
  readonly line: number;
  /** What is cited: a number, a path, or a path with an anchor. */
  readonly cited: string;
}

const roots = ["src", "providers", "stacks", "test", "tools", "bench", "deploy", "examples"].concat(
  ["docs", "bin", ".ci", "README.md", "CHANGELOG.md", "eslint.config.mjs"],
);
const left = new Set(["node_modules", "dist", "vectors", "golden", "screens"]);
const readable = /\.(ts|mts|mjs|js|md|ya?ml|sh)$/;

function filesUnder(path: string): string[] {
  if (!statSync(path).isDirectory()) return readable.test(path) ? [path] : [];
  return readdirSync(path)
    .filter((name) => !left.has(name))
    .sort()
    .flatMap((name) => filesUnder(join(path, name)));
}

/** Every file whose comments or prose may cite: sources, tests, tools and pages. Absolute paths. */
export function citingFiles(): string[] {
  return roots.map((root) => join(repository, root)).flatMap((path) => filesUnder(path));
}

interface Pattern {
  readonly kind: Citation["kind"];
  readonly pattern: RegExp;
  readonly where: "anywhere" | "comments" | "markdown";
}

const sourcePath = /(?<![\w/.*-])(?:src|providers|tools)(?:\/[\w-]+(?:\.[\w-]+)*)+(?![/\w*])/g;

/** Where a pattern has a group, the group is what is cited. */
const patterns: readonly Pattern[] = [
  { kind: "law", pattern: /\blaw (\d+(?:, \d+)*)/gi, where: "anywhere" },
  { kind: "law", pattern: /\blaws (\d+(?:, \d+)*(?:,| and) \d+)/gi, where: "anywhere" },
  { kind: "rule", pattern: /\brule (\d+\.\d+)/gi, where: "anywhere" },
  {
    kind: "section",
    pattern: /\barchitecture(?:\.md)?,? section (\d+(?:\.\d+)?)/gi,
    where: "anywhere",
  },
  // A number without a word for what it counts leads nowhere.
  { kind: "section", pattern: /\barchitecture(?:\.md)?,? (\d+\.\d+|\d+)/gi, where: "anywhere" },
  { kind: "decision", pattern: /\bADR (\d+)/g, where: "anywhere" },
  { kind: "path", pattern: /(?<![\w/.-])docs\/[\w./-]*\w(?:#[\w-]+)?/g, where: "comments" },
  {
    kind: "path",
    pattern: /(?<![\w/.-])(?:docs|src|test|tools)\/[\w./-]+\.\w+(?:#[\w-]+)?/g,
    where: "markdown",
  },
  // Also without an ending, as a folder or a module is named.
  { kind: "source", pattern: sourcePath, where: "comments" },
  {
    kind: "source",
    pattern: /(?<=`)(?:src|providers|stacks|tools)(?:\/[\w-]+)+(?=`)/g,
    where: "markdown",
  },
  { kind: "document", pattern: /[\w./-]+\.md\b/g, where: "comments" },
  // Sources of others are named by address, with the release that was read.
  {
    kind: "document",
    pattern: /(?<![\w/.-])(?:pkg|sdk)\/[\w./-]+\.(?:go|ts)\b/g,
    where: "comments",
  },
  { kind: "link", pattern: /\]\((?!\w+:)([^)\s]+)\)/g, where: "markdown" },
];

function isComment(line: string): boolean {
  return /^\s*(\/\/|\/\*|\*|#)/.test(line) || /\s(\/\/|\/\*\*) /.test(line);
}

/** What the text of a file cites, in the order of its lines. Pure. */
export function citationsIn(file: string, text: string): Citation[] {
  const isMarkdown = file.endsWith(".md");
  let fenced = false;
  return text.split("\n").flatMap((line, index) => {
    if (isMarkdown && line.trimStart().startsWith("```")) fenced = !fenced;
    if (fenced) return [];
    const fits = { anywhere: true, comments: !isMarkdown && isComment(line), markdown: isMarkdown };
    return patterns
      .filter(({ where }) => fits[where])
      .flatMap(({ kind, pattern }) =>
        [...line.matchAll(pattern)]
          .flatMap((match) => (match[1] ?? match[0]).split(/(?:, | and )/))
          .map((cited): Citation => ({ kind, file, line: index + 1, cited })),
      );
  });
}

const folder = join(repository, "docs");

/** The anchors that GitHub gives the headings of a page. */
function anchorsOf(page: string): Set<string> {
  const headings = readFileSync(page, "utf8").matchAll(/^#+ (.+)$/gm);
  return new Set(
    [...headings].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replace(/[^\w\s-]/g, "")
        .replace(/\s/g, "-"),
    ),
  );
}

function headingsOf(page: string): string[] {
  return [...readFileSync(page, "utf8").matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading);
}

const architecture = headingsOf(join(folder, "architecture.md"));
const decisions = readdirSync(join(folder, "adr")).map((name) => Number(name.slice(0, 4)));

function hasPath(base: string, cited: string): boolean {
  const [path = "", anchor] = cited.split("#");
  const full = path === "" ? base : join(base, path);
  const found = /^docs\/adr\/\d{4}$/.test(path)
    ? decisions.includes(Number(path.slice(-4)))
    : existsSync(full);
  return found && (anchor === undefined || anchorsOf(full).has(anchor));
}

/** Whether the repository holds what is cited. */
export function resolves({ kind, file, cited }: Citation): boolean {
  switch (kind) {
    case "law":
      return architecture.includes(`Law ${cited}`);
    case "rule":
      return architecture.includes(`Rule ${cited}`);
    case "section":
      return architecture.some((heading) => heading.startsWith(`${cited}. `));
    case "decision":
      return decisions.includes(Number(cited));
    case "path":
      return hasPath(repository, cited);
    case "source":
      return hasPath(repository, cited) || hasPath(repository, `${cited}.ts`);
    case "document":
      return hasPath(repository, cited) || hasPath(dirname(join(repository, file)), cited);
    case "link":
      return cited.startsWith("#")
        ? hasPath(join(repository, file), cited)
        : hasPath(dirname(join(repository, file)), cited);
  }
}

/** "FILE:LINE: KIND CITED", for messages. */
export function placeOf({ kind, file, line, cited }: Citation): string {
  return `${file}:${line}: ${kind} ${cited}`;
}

export function relativeToRepository(path: string): string {
  return relative(repository, path);
}
