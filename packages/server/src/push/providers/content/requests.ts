/** Requests in the two formats that gateways accept. */
import { stringifyJson } from '../../../lib/json.js'
import type { GatewayRequest } from '../runtime/transport.js'

export type Headers = Readonly<Record<string, string>>

/** Builds a POST with a JSON body. */
export function jsonRequest(url: string, body: unknown, headers: Headers = {}): GatewayRequest {
  return {
    method: 'POST',
    url,
    headers: { ...headers, 'content-type': 'application/json; charset=utf-8' },
    body: stringifyJson(body),
  }
}

/** Builds a POST with form fields. */
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

/** Number of bytes of a value as JSON. */
export function requestBytes(value: unknown): number {
  return Buffer.byteLength(stringifyJson(value))
}
