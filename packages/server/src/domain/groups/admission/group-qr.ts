import { createHmac, hkdfSync } from 'node:crypto'
import type { Int64 } from '@hermod/protocol'
import { equalSecrets } from '../../../lib/tokens.js'

/** What the QR code of a group says. */
export interface GroupQr {
  readonly appId: string
  readonly groupId: Int64
  /** Who made it; 0: an Admin token alone. */
  readonly signerId: Int64
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** The key of QR texts alone, so that no other signature of the service can pass for one. */
export function groupQrKey(secretKey: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secretKey, '', 'group QR texts', 32))
}

/** `base64url(payload).base64url(HMAC-SHA256)`; the payload is a JSON list of the members of {@link GroupQr} in their order. */
export function groupQrText(key: Buffer, { appId, groupId, signerId, expiresAt }: GroupQr): string {
  const payload = Buffer.from(
    JSON.stringify([appId, Number(groupId), Number(signerId), expiresAt]),
  ).toString('base64url')
  return `${payload}.${macOf(key, payload)}`
}

/** @returns null when it is not the text of {@link groupQrText} under this key; it may have expired */
export function readGroupQrText(key: Buffer, text: string): GroupQr | null {
  const [, payload, mac] = /^([\w-]+)\.([\w-]{43})$/.exec(text) ?? []
  if (payload === undefined || mac === undefined || !equalSecrets(mac, macOf(key, payload)))
    return null
  const [appId, groupId, signerId, expiresAt] = JSON.parse(
    Buffer.from(payload, 'base64url').toString(),
  )
  return { appId, groupId, signerId, expiresAt }
}

function macOf(key: Buffer, payload: string): string {
  return createHmac('sha256', key).update(payload).digest('base64url')
}
