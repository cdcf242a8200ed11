import type { Int64 } from '@hermod/protocol'
import { readSignedList, signedList } from '../../lib/secrets/signed-list.js'
import { type FileKey, type FileRecipient, recipientNumber, recipientOf } from './file-model.js'

/** What stands behind `file_sign=` in the address of a file: which file, and for whom. */
export interface FileLink extends FileKey {
  readonly recipient: FileRecipient
  /** Who uploaded or forwarded the file; 0: the system. */
  readonly makerId: Int64
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly expiresAt: number
}

/** The members of {@link FileLink}, signed. */
export function linkText(key: Buffer, link: FileLink): string {
  return signedList(key, [
    link.appId,
    link.fileId,
    recipientNumber(link.recipient),
    Number(link.recipient.id),
    Number(link.makerId),
    link.createdAt,
    link.expiresAt,
  ])
}

/** @returns null when it is not the text of {@link linkText} under one of these keys; it may have expired */
export function readLinkText(keys: readonly Buffer[], text: string): FileLink | null {
  const values = readSignedList(keys, text)
  if (values === null) return null
  const [appId, fileId, toType, toId, makerId, createdAt, expiresAt] = values as [
    string,
    string,
    number,
    number,
    number,
    number,
    number,
  ]
  return { appId, fileId, recipient: recipientOf(toType, toId), makerId, createdAt, expiresAt }
}
