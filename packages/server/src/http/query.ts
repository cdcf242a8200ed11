import { parse } from 'node:querystring'
import type { QueryParameters } from '../pipeline/parameters.js'

const maxParameters = 100
const none: QueryParameters = {}

/** @returns null when the text is not percent-encoded UTF-8 */
export function parseQuery(text: string): QueryParameters | null {
  if (text === '') return none
  if (text.includes('%') && !isPercentEncoded(text)) return null
  return parse(text, '&', '=', { maxKeys: maxParameters }) as QueryParameters
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
