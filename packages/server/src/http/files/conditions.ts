/** Conditional requests (RFC 9110, section 13). */
import type { IncomingHttpHeaders } from 'node:http'
import fresh from 'fresh'

/** The file's validators: ETag and Last-Modified. */
export interface Validators {
  /** The tag with its quotes. */
  readonly etag: string
  readonly lastModified: string
}

/**
 * Evaluates the conditions in the order of RFC 9110, section 13.2.2.
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

/** Reports whether a part may be sent: the client has other parts of this same file (If-Range). */
export function isSameFile(
  { 'if-range': other }: IncomingHttpHeaders,
  { etag, lastModified }: Validators,
): boolean {
  return other === undefined || other === etag || other === lastModified
}
