import { visible } from "../../markdown-text.js";

/** HTML in which everything from elsewhere is escaped. Only `html` and `trusted` make it. */
export interface Markup {
  readonly html: string;
}

/** A template: strings in it are escaped, Markup is not; lists are joined. Pure. */
export function html(
  texts: TemplateStringsArray,
  ...holes: readonly (Markup | readonly Markup[] | string | number)[]
): Markup {
  const parts = texts.map((written, index) => {
    const hole = holes[index];
    // How the source is indented is no part of the page.
    const text = written.replace(/\n\s*/g, "\n");
    return hole === undefined ? text : text + filled(hole);
  });
  return { html: parts.join("") };
}

/** For texts of this folder: style and script. */
export function trusted(text: string): Markup {
  return { html: text };
}

export const nothing: Markup = { html: "" };

function filled(hole: Markup | readonly Markup[] | string | number): string {
  if (typeof hole === "number") return String(hole);
  if (typeof hole === "string") return escaped(hole);
  if ("html" in hole) return hole.html;
  return hole.map((one) => one.html).join("");
}

/** Fit for text and for quoted attributes. */
function escaped(text: string): string {
  return visible(text).replace(/[&<>"']/g, (char) => `&#${String(char.codePointAt(0))};`);
}
