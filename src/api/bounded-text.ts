/** At most so many characters, with the number of those left out. Pure. */
export function cutTo(text: string, characters: number): string {
  if (text.length <= characters) return text;
  // Not in the middle of a pair of surrogates.
  const end = /[\ud800-\udbff]/.test(text[characters - 1] ?? "") ? characters - 1 : characters;
  return `${text.slice(0, end)}… (${text.length - end} more characters)`;
}

/** The longest message of an error: an answer of a cloud or an API server may have any length. */
const longestMessage = 32_768;

/** The words of an error as far as anything looks at them. Pure. */
export function boundedMessage(message: string): string {
  return cutTo(message, longestMessage);
}

/** The longest text in a log line, a status or an Event. */
const longestShown = 16_384;
/** No secret is longer. */
const longestSecret = 8_192;

/**
 * The same redaction for texts of any length: the rest of a long text is left out before anything looks at it. A secret in the
 * middle of which the text was cut is left out as well.
 */
export function boundedRedaction(redact: (text: string) => string): (text: string) => string {
  return (text) => {
    if (text.length <= longestShown) return redact(text);
    const cut = redact(text.slice(0, longestShown));
    const kept = Math.max(0, cut.length - longestSecret);
    const omitted = text.length - longestShown + cut.length - kept;
    return `${cut.slice(0, kept)}… (${omitted} more characters)`;
  };
}
