import { createHmac } from 'node:crypto'
import type { Int64 } from '@hermod/protocol'
import { equalSecrets } from '../../../lib/secrets/tokens.js'

/** What the QR code of a group says. */
export interface GroupQr {
  readonly appId: string
  readonly groupId: Int64
  /** Who made it; 0: an Admin token alone. */
  readonly signerId: Int64
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** `base64url(payload).base64url(HMAC-SHA256)`; the payload is a JSON list of the members of {@link GroupQr} in their order. */
export function groupQrText(key: Buffer, { appId, groupId, signerId, expiresAt }: GroupQr): string {
  const payload = Buffer.from(
    JSON.stringify([appId, Number(groupId), Number(signerId), expiresAt]),
  ).toString('base64url')
  return `${payload}.${qrMacOf(key, payload)}`
}

/** @returns null when it is not the text of {@link groupQrText} under one of these keys; it may have expired */
export function readGroupQrText(keys: readonly Buffer[], text: string): GroupQr | null {
  const [, payload, mac] = /^([\w-]+)\.([\w-]{43})$/.exec(text) ?? []
  if (payload === undefined || mac === undefined) return null
  if (!keys.some((key) => equalSecrets(mac, qrMacOf(key, payload)))) return null
  const [appId, groupId, signerId, expiresAt] = JSON.parse(
    Buffer.from(payload, 'base64url').toString(),
  )
  return { appId, groupId, signerId, expiresAt }
}

function qrMacOf(key: Buffer, payload: string): string {
  return createHmac('sha256', key).update(payload).digest('base64url')
}
