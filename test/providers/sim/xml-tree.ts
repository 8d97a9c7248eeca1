/** XML as a tree: texts, lists of `item` or `member`, and objects. Attributes are left out. */
export type XmlTree = string | XmlTree[] | { readonly [name: string]: XmlTree };

/** Parses what services answer: elements and texts, no mixed content. */
export function parseXml(document: string): XmlTree {
  const tokens = document.replace(/<\?.*?\?>/s, "").match(/<[^>]+>|[^<]+/g) ?? [];
  let next = 0;
  const content = (): XmlTree => {
    const children: [string, XmlTree][] = [];
    let text = "";
    for (;;) {
      const token = tokens[next];
      next += 1;
      if (token === undefined || token.startsWith("</")) break;
      if (!token.startsWith("<")) {
        text += token;
        continue;
      }
      const [, name = ""] = /^<([^\s/>]+)/.exec(token) ?? [];
      children.push([name, token.endsWith("/>") ? "" : content()]);
    }
    if (children.length === 0) return unescaped(text.trim());
    const isList = children.every(([name]) => name === "item" || name === "member");
    return isList ? children.map(([, child]) => child) : Object.fromEntries(children);
  };
  return content();
}

function unescaped(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#13;", "\r")
    .replaceAll("&amp;", "&");
}

/** What is at a path such as "instancesSet.0.instanceId"; "" where there is nothing. */
export function at(tree: XmlTree, path: string): XmlTree {
  let here: XmlTree = tree;
  for (const name of path.split(".")) {
    if (typeof here === "string") return "";
    here = (here as Readonly<Record<string, XmlTree>>)[name] ?? "";
  }
  return here;
}
