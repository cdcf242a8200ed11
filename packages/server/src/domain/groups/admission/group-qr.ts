import type { Int64 } from '@hermod/protocol'
import { readSignedList, signedList } from '../../../lib/secrets/signed-list.js'

/** Content of a group's QR code. */
export interface GroupQr {
  readonly appId: string
  readonly groupId: Int64
  /** User who signed the code; 0: an Admin token alone. */
  readonly signerId: Int64
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Returns the members of {@link GroupQr} in order, signed. */
export function groupQrText(key: Buffer, { appId, groupId, signerId, expiresAt }: GroupQr): string {
  return signedList(key, [appId, Number(groupId), Number(signerId), expiresAt])
}

/**
 * @returns null when the text is not one of {@link groupQrText} under one of these keys; it may
 * have expired
 */
export function readGroupQrText(keys: readonly Buffer[], text: string): GroupQr | null {
  const values = readSignedList(keys, text)
  if (values === null) return null
  const [appId, groupId, signerId, expiresAt] = values as [string, number, number, number]
  return { appId, groupId, signerId, expiresAt }
}
