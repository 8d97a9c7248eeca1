// Calls to the API of a forge: JSON in and out, tried again where that can help.

import { setTimeout as pause } from "node:timers/promises";

/** @typedef {{ readonly status: number, readonly headers: Headers, readonly body: any }} Answer */

const attempts = 4;
const answerTimeoutMs = 20_000;
const pageSize = 100;
/** More pages are not looked through: a discussion of so many comments needs another one. */
const mostPages = 100;

/** An answer that says no. Its text names the call, never the token. */
export class ForgeError extends Error {
  /**
   * @param {string} call
   * @param {Answer} answer
   */
  constructor(call, { status, body }) {
    const why = body?.message ?? body?.error ?? "";
    super(
      `${call}: answered ${status} ${typeof why === "string" ? why : JSON.stringify(why)}`.trim(),
    );
    this.status = status;
  }
}

export class ForgeApi {
  /**
   * @param {string} base address without a slash at its end
   * @param {Readonly<Record<string, string>>} headers with which the token goes
   */
  constructor(base, headers) {
    this.base = base.replace(/(?<!\/)\/+$/, "");
    this.headers = headers;
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [content]
   * @returns {Promise<any>} the body of the answer
   * @throws ForgeError
   */
  async call(method, path, content) {
    return (await this.answer(method, path, content)).body;
  }

  /**
   * The items of a list, page by page, so that who finds what it looks for asks for no more.
   *
   * @param {string} path
   * @returns {AsyncGenerator<any>}
   */
  async *list(path) {
    for (let page = 1; page <= mostPages; page += 1) {
      const items = await this.call("GET", `${path}?per_page=${pageSize}&page=${page}`);
      yield* items;
      if (items.length < pageSize) return;
    }
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} content
   * @returns {Promise<Answer>}
   */
  async answer(method, path, content) {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.ask(method, path, content);
      if (answer.status < 300) return answer;
      const mayPass = answer.status === 429 || answer.status >= 500;
      if (!mayPass || attempt === attempts) throw new ForgeError(`${method} ${path}`, answer);
      await pause(waitMs(answer.headers, attempt));
    }
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} content
   * @returns {Promise<Answer>}
   */
  async ask(method, path, content) {
    const response = await fetch(this.base + path, {
      method,
      headers: { accept: "application/json", "content-type": "application/json", ...this.headers },
      signal: AbortSignal.timeout(answerTimeoutMs),
      ...(content !== undefined && { body: JSON.stringify(content) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: parsed(text) };
  }
}

/**
 * @param {Headers} headers
 * @param {number} attempt
 */
function waitMs(headers, attempt) {
  const asked = Number(headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(asked) ? Math.min(asked, 60) * 1_000 : 500 * 2 ** attempt;
}

/** @param {string} text */
function parsed(text) {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return { message: text.slice(0, 200) };
  }
}
