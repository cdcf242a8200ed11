import type { Int64 } from '@hermod/protocol'
import { readSignedList, signedList } from '../../../lib/secrets/signed-list.js'

/** What the QR code of a group says. */
export interface GroupQr {
  readonly appId: string
  readonly groupId: Int64
  /** Who made it; 0: an Admin token alone. */
  readonly signerId: Int64
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** The members of {@link GroupQr} in their order, signed. */
export function groupQrText(key: Buffer, { appId, groupId, signerId, expiresAt }: GroupQr): string {
  return signedList(key, [appId, Number(groupId), Number(signerId), expiresAt])
}

/** @returns null when it is not the text of {@link groupQrText} under one of these keys; it may have expired */
export function readGroupQrText(keys: readonly Buffer[], text: string): GroupQr | null {
  const values = readSignedList(keys, text)
  if (values === null) return null
  const [appId, groupId, signerId, expiresAt] = values as [string, number, number, number]
  return { appId, groupId, signerId, expiresAt }
}
