import type { Int64 } from '@hermod/protocol'
import { claimedList, readSignedList, signedList } from '../../../lib/secrets/signed-list.js'
import {
  type FileKey,
  type FileRecipient,
  fileRecipientOf,
  isFileId,
  recipientNumber,
} from '../file-model.js'

/** The content of `file_sign=` in the address of a file: the file and its recipient. */
export interface FileLink extends FileKey {
  readonly recipient: FileRecipient
  /** The user who uploaded or forwarded the file; 0: the system. */
  readonly makerId: Int64
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly expiresAt: number
}

/** Returns the members of {@link FileLink}, signed. */
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

/** @returns null when it is not the text of {@link linkText} under this key; it may have expired */
export function readLinkText(key: Buffer, text: string): FileLink | null {
  const values = readSignedList([key], text)
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
  return { appId, fileId, recipient: fileRecipientOf(toType, toId), makerId, createdAt, expiresAt }
}

/**
 * Returns the ID of the file that the text of a link names, whatever its signature and expiry, so
 * that references to a file stay when keys are renewed. A forged text can keep a file but grants no
 * access to one.
 * @returns null when it is no link of the app
 */
export function linkedFileId(appId: string, text: string): string | null {
  const [linkAppId, fileId] = claimedList(text) ?? []
  return linkAppId === appId && typeof fileId === 'string' && isFileId(fileId) ? fileId : null
}
