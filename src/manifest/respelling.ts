import type { MemberPath } from "../api/diagnostic-codes.js";

/** An older spelling that was rewritten: errors below `now` are shown where `written` stands. */
export interface Respelling {
  readonly written: MemberPath;
  readonly now: MemberPath;
}
