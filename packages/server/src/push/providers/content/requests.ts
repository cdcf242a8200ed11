/** Requests in the two forms that gateways take. */
import { stringifyJson } from '../../../lib/json.js'
import type { GatewayRequest } from '../runtime/transport.js'

export type Headers = Readonly<Record<string, string>>

/** A POST with a value as JSON. */
export function jsonRequest(url: string, body: unknown, headers: Headers = {}): GatewayRequest {
  return {
    method: 'POST',
    url,
    headers: { ...headers, 'content-type': 'application/json; charset=utf-8' },
    body: stringifyJson(body),
  }
}

/** A POST with fields as an HTML form sends them. */
export function formRequest(
  url: string,
  fields: Readonly<Record<string, string>>,
  headers: Headers = {},
): GatewayRequest {
  return {
    method: 'POST',
    url,
    headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
    body: new URLSearchParams(fields).toString(),
  }
}

/** Bytes of a value as JSON. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(stringifyJson(value))
}
