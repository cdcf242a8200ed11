import type { JSONWebKeySet } from 'jose'
import { isJsonObject, type JsonObject } from '../../../../lib/json.js'
import type { OutboundAnswer } from '../../../../lib/outbound/outbound-client.js'
import { parseStrictObject } from '../../../../lib/strict-json.js'

/** Gets a document from an https address. @throws Error */
export type GetDocument = (url: string) => Promise<OutboundAnswer>

/** The address of an issuer's keys, or of the document that names it. */
export type KeyAddress =
  | { readonly jwksUrl: string }
  | { readonly discovery: string; readonly issuer: string }

/** Fetches a set of keys. @throws Error with the reason, for operators */
export async function fetchKeys(address: KeyAddress, get: GetDocument): Promise<JSONWebKeySet> {
  const url = 'jwksUrl' in address ? address.jwksUrl : await discoveredUrl(address, get)
  const { keys } = await objectAt(url, get)
  if (!Array.isArray(keys) || !keys.every(isJsonObject))
    throw new Error(`${url} answered no set of keys`)
  return { keys } as unknown as JSONWebKeySet
}

/** Reads the address of the keys from a discovery document (OpenID Connect Discovery 1.0). */
async function discoveredUrl(
  { discovery, issuer }: { readonly discovery: string; readonly issuer: string },
  get: GetDocument,
): Promise<string> {
  const { issuer: named, jwks_uri: url } = await objectAt(discovery, get)
  if (named !== issuer) throw new Error(`${discovery} is the document of another issuer`)
  if (typeof url !== 'string' || !isHttps(url))
    throw new Error(`${discovery} has no jwks_uri that is an https address`)
  return url
}

/** Tests for an https address. */
export function isHttps(url: string): boolean {
  return URL.canParse(url) && new URL(url).protocol === 'https:'
}

async function objectAt(url: string, get: GetDocument): Promise<JsonObject> {
  const { status, body, isWhole } = await get(url)
  if (status !== 200) throw new Error(`${url} answered ${status}, not 200`)
  if (!isWhole) throw new Error(`${url} answered more than 64 KiB, or too slowly`)
  const found = parseStrictObject(body.toString())
  if (found === null) throw new Error(`${url} answered no JSON object`)
  return found
}
