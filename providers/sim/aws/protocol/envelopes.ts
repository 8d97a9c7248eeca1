// How each family of services wraps answers and errors.

import type { ApiError } from "./api-error.js";
import { type WireObject, xmlOf } from "./xml.js";

/** A call's answer as it goes over the wire. */
export interface WireAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A service's protocol: how its answers and errors look. */
export interface Envelope {
  answer(action: string, members: WireObject, requestId: string): WireAnswer;
  error(error: ApiError, requestId: string): WireAnswer;
}

const xmlType = "text/xml;charset=UTF-8";
const declaration = `<?xml version="1.0" encoding="UTF-8"?>\n`;

/** That of EC2: members beside `requestId`, lists of `item`. */
export function ec2Envelope(namespace: string): Envelope {
  return {
    answer: (action, members, requestId) =>
      xmlAnswer(
        200,
        requestId,
        `<${action}Response xmlns="${namespace}">${xmlOf({ requestId, ...members }, "item")}</${action}Response>`,
      ),
    error: ({ code, message, status }, requestId) => {
      const error = xmlOf({ Errors: { Error: { Code: code, Message: message } } }, "item");
      return xmlAnswer(
        status,
        requestId,
        `<Response>${error}<RequestID>${requestId}</RequestID></Response>`,
      );
    },
  };
}

/** That of the other services with the Query protocol: members in a result, lists of `member`. */
export function queryEnvelope(namespace: string): Envelope {
  return {
    answer: (action, members, requestId) => {
      const result = xmlOf({ [`${action}Result`]: members }, "member");
      const metadata = xmlOf({ ResponseMetadata: { RequestId: requestId } }, "member");
      return xmlAnswer(
        200,
        requestId,
        `<${action}Response xmlns="${namespace}">${result}${metadata}</${action}Response>`,
      );
    },
    error: ({ code, message, status }, requestId) => {
      const Type = status < 500 ? "Sender" : "Receiver";
      const error = xmlOf({ Error: { Type, Code: code, Message: message } }, "member");
      return xmlAnswer(
        status,
        requestId,
        `<ErrorResponse xmlns="${namespace}">${error}<RequestId>${requestId}</RequestId></ErrorResponse>`,
      );
    },
  };
}

/** That of services with JSON 1.1. */
export const jsonEnvelope: Envelope = {
  answer: (_, members, requestId) => jsonAnswer(200, requestId, members),
  error: ({ code, message, status }, requestId) =>
    jsonAnswer(status, requestId, { __type: code, message, Message: message }),
};

function xmlAnswer(status: number, requestId: string, content: string): WireAnswer {
  const headers = { "x-amzn-requestid": requestId };
  return { status, contentType: xmlType, headers, body: `${declaration}${content}` };
}

function jsonAnswer(status: number, requestId: string, document: WireObject): WireAnswer {
  const headers = { "x-amzn-requestid": requestId };
  const contentType = "application/x-amz-json-1.1";
  return { status, contentType, headers, body: JSON.stringify(document) };
}
