/** The parts of a key as one text, for maps. No part but the last one contains a slash. */
export function keyText(...parts: readonly (string | number | bigint)[]): string {
  return parts.join('/')
}
