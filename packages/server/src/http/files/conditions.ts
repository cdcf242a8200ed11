/** Requests that depend on what the client has already (RFC 9110, section 13). */
import type { IncomingHttpHeaders } from 'node:http'
import fresh from 'fresh'

/** What tells one state of a file from another, as headers have it. */
export interface Validators {
  /** With its quotes. */
  readonly etag: string
  readonly lastModified: string
}

/**
 * In the order of RFC 9110, section 13.2.2.
 * @returns `failed`: the file is not the one that the client means; `not_modified`: the client has it
 */
export function evaluateConditions(
  headers: IncomingHttpHeaders,
  { etag, lastModified }: Validators,
): 'send' | 'not_modified' | 'failed' {
  const { 'if-match': match, 'if-unmodified-since': unmodifiedSince } = headers
  if (match !== undefined) {
    if (match !== '*' && !match.split(/\s*,\s*/).includes(etag)) return 'failed'
  } else if (Date.parse(lastModified) > Date.parse(unmodifiedSince ?? '')) return 'failed'
  return fresh(headers, { etag, 'last-modified': lastModified }) ? 'not_modified' : 'send'
}

/** Whether a part may be sent: the client says which file it has the other parts of (If-Range), and that is this one. */
export function isSameFile(
  { 'if-range': other }: IncomingHttpHeaders,
  { etag, lastModified }: Validators,
): boolean {
  return other === undefined || other === etag || other === lastModified
}
