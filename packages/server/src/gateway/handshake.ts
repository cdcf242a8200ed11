import type { IncomingMessage } from 'node:http'
import { AppError } from '@hermod/protocol'
import { gatewayProtocol } from '@hermod/protocol/gateway'
import type { Origins } from '../edge/origins.js'

/** 16 bytes in base64 (RFC 6455, section 4.1). */
const key = /^[A-Za-z0-9+/]{22}==$/

/** @throws AppError method_not_accepted, origin_refused, malformed_request */
export function requireHandshake(
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  origins: Pick<Origins, 'allows'>,
): void {
  const { origin } = headers
  if (method !== 'GET') throw new AppError('method_not_accepted')
  // Programs other than browsers send none.
  if (origin !== undefined && !origins.allows(origin)) throw new AppError('origin_refused')
  if (headers['sec-websocket-version'] !== '13')
    throw new AppError('malformed_request', 'sec-websocket-version must be 13')
  if (!key.test(headers['sec-websocket-key'] ?? ''))
    throw new AppError('malformed_request', 'sec-websocket-key must be 16 bytes in base64')
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim())
  if (!offered.includes(gatewayProtocol))
    throw new AppError('malformed_request', `sec-websocket-protocol must offer ${gatewayProtocol}`)
}
