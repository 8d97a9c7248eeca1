import assert from "node:assert/strict";

/**
 * Fails unless the text follows the grammar of the DOT language as far as we use it: statements in
 * braces, quoted strings, attribute lists. Source: graphviz.org/doc/info/lang.html.
 */
export function assertDot(text: string): void {
  const tokens = tokensOf(text);
  let at = 0;
  const peek = () => tokens[at];
  const take = (wanted?: string | RegExp) => {
    const token = tokens[at];
    const fits =
      wanted === undefined ||
      (typeof wanted === "string" ? token === wanted : wanted.test(token ?? ""));
    assert.ok(fits && token !== undefined, `${String(wanted)} expected, not ${token}`);
    at += 1;
    return token;
  };
  const id = /^([A-Za-z_][A-Za-z_0-9]*|-?\d+(\.\d+)?|"[\s\S]*")$/;
  const attributes = () => {
    if (peek() !== "[") return;
    take("[");
    while (peek() !== "]") {
      take(id);
      take("=");
      take(id);
      if (peek() === ",") take(",");
    }
    take("]");
  };
  const statements = () => {
    take("{");
    while (peek() !== "}") {
      if (peek() === "subgraph") {
        take("subgraph");
        take(id);
        statements();
        continue;
      }
      take(id);
      if (peek() === "=") {
        take("=");
        take(id);
      } else {
        while (peek() === "->") {
          take("->");
          take(id);
        }
        attributes();
      }
      take(";");
    }
    take("}");
  };
  take("digraph");
  take(id);
  statements();
  assert.equal(at, tokens.length, "nothing follows the graph");
}

function tokensOf(text: string): string[] {
  const token = /"(?:[^"\\]|\\[\s\S])*"|->|[A-Za-z_][A-Za-z_0-9]*|-?\d+(?:\.\d+)?|[{}[\]=;,]/y;
  const tokens: string[] = [];
  let rest = 0;
  for (;;) {
    rest += /^\s*/.exec(text.slice(rest))?.[0].length ?? 0;
    if (rest >= text.length) return tokens;
    token.lastIndex = rest;
    const found = token.exec(text)?.[0];
    assert.ok(found !== undefined, `no token at ${JSON.stringify(text.slice(rest, rest + 20))}`);
    tokens.push(found);
    rest += found.length;
  }
}

/** Fails unless every line is one that Mermaid's flowcharts know, frames close, and ids are known. */
export function assertMermaid(text: string): void {
  const [head, ...lines] = text.trimEnd().split("\n");
  assert.equal(head, "flowchart BT");
  const label = String.raw`"(?:[\p{L}\p{N} _.,/:-]|#\d+;|<br/>)*"`;
  const shape = new RegExp(String.raw`^ +(g\d+n\d+)\[${label}\]$`, "u");
  const frame = new RegExp(String.raw`^ +subgraph (g\d+(?:n\d+)?)\[${label}\]$`, "u");
  const arrow = new RegExp(String.raw`^ +(g\d+n\d+) -->(?:\|${label}\|)? (g\d+n\d+)$`, "u");
  const ids = new Set<string>();
  let open = 0;
  for (const line of lines) {
    const declared = shape.exec(line)?.[1] ?? frame.exec(line)?.[1];
    const ends = arrow.exec(line)?.slice(1);
    if (frame.test(line)) open += 1;
    if (declared !== undefined) {
      assert.ok(!ids.has(declared), `${declared} is declared once`);
      ids.add(declared);
    } else if (ends !== undefined) {
      assert.ok(
        ends.every((id) => ids.has(id)),
        line,
      );
    } else {
      assert.match(line, /^ +end$/);
      open -= 1;
    }
    assert.ok(open >= 0, "no end without a subgraph");
  }
  assert.equal(open, 0, "every subgraph ends");
}
