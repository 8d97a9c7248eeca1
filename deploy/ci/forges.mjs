// Where comments go: the discussion of a pull request on GitHub, or of a merge request on GitLab.

import { readFileSync } from "node:fs";
import { ForgeApi } from "./forge-api.mjs";

/**
 * @typedef {{
 *   readonly longest: number,
 *   find(marker: string): Promise<{ readonly id: number, readonly body: string } | undefined>,
 *   create(body: string): Promise<void>,
 *   update(id: number, body: string): Promise<void>,
 * }} Discussion `find` answers the oldest comment of ours that begins with the marker; `longest`
 *   counts characters
 */

/**
 * The discussion that this run is about; what is missing, as a sentence, if there is none.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {Discussion | string}
 */
export function discussionOf(env) {
  const token = env["CAPSTAN_COMMENT_TOKEN"] ?? "";
  if (env["GITLAB_CI"]) return gitlabDiscussion(env, token);
  if (env["GITHUB_ACTIONS"]) return githubDiscussion(env, token);
  return "this is neither a run of GitHub Actions nor of GitLab CI";
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {string} token
 * @returns {Discussion | string}
 */
function githubDiscussion(env, token) {
  const number = pullRequestNumber(env["GITHUB_EVENT_PATH"]);
  if (number === undefined) return "this run is not about a pull request";
  if (token === "") return "there is no token";
  const api = new ForgeApi(env["GITHUB_API_URL"] ?? "https://api.github.com", {
    authorization: `Bearer ${token}`,
    "x-github-api-version": "2022-11-28",
  });
  const comments = `/repos/${env["GITHUB_REPOSITORY"]}/issues/${number}/comments`;
  // The token of a workflow may not ask who it is.
  const author = env["CAPSTAN_COMMENT_AUTHOR"] || "github-actions[bot]";
  return {
    longest: 65_536,
    find: (marker) =>
      firstOf(
        api.list(comments),
        ({ body, user }) => user?.login === author && isMarked(body, marker),
      ),
    create: (body) => api.call("POST", comments, { body }),
    update: (id, body) =>
      api.call("PATCH", `/repos/${env["GITHUB_REPOSITORY"]}/issues/comments/${id}`, { body }),
  };
}

/**
 * @param {string | undefined} file
 * @returns {number | undefined}
 */
function pullRequestNumber(file) {
  const event = file ? JSON.parse(readFileSync(file, "utf8")) : {};
  const number = event.pull_request?.number;
  return Number.isInteger(number) ? number : undefined;
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {string} token
 * @returns {Discussion | string}
 */
function gitlabDiscussion(env, token) {
  const { CI_API_V4_URL: base, CI_PROJECT_ID: project, CI_MERGE_REQUEST_IID: number } = env;
  if (!base || !project || !number) return "this pipeline is not about a merge request";
  if (token === "") return "there is no token (a job's own may not write comments)";
  const api = new ForgeApi(base, { "private-token": token });
  const notes = `/projects/${encodeURIComponent(project)}/merge_requests/${number}/notes`;
  return {
    longest: 1_000_000,
    find: async (marker) => {
      const { id } = await api.call("GET", "/user");
      return firstOf(
        api.list(notes),
        ({ body, author, system }) => !system && author?.id === id && isMarked(body, marker),
      );
    },
    create: (body) => api.call("POST", notes, { body }),
    update: (id, body) => api.call("PUT", `${notes}/${id}`, { body }),
  };
}

/**
 * What comes first in a list may be its newest: the oldest has the lowest number.
 *
 * @param {AsyncGenerator<any>} items
 * @param {(item: any) => boolean} fits
 */
async function firstOf(items, fits) {
  let oldest;
  for await (const item of items) {
    if (fits(item) && (oldest === undefined || item.id < oldest.id)) oldest = item;
  }
  return oldest;
}

/**
 * Only the very beginning counts: what others quote or hide further down is theirs.
 *
 * @param {unknown} body
 * @param {string} marker
 */
function isMarked(body, marker) {
  return typeof body === "string" && body.startsWith(marker);
}
