import type { Int64 } from '@hermod/protocol'
import { claimedList, readSignedList, signedList } from '../../../lib/secrets/signed-list.js'
import {
  type FileKey,
  type FileRecipient,
  fileRecipientOf,
  isFileId,
  recipientNumber,
} from '../file-model.js'

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
 * The file that the text of a link is about, no matter who signed it and whether or not it has expired: so what refers to a file stays the same
 * when keys are renewed. A text that was made up can keep a file, but nobody gets one by it.
 * @returns null when it is no link of the app
 */
export function linkedFileId(appId: string, text: string): string | null {
  const [linkAppId, fileId] = claimedList(text) ?? []
  return linkAppId === appId && typeof fileId === 'string' && isFileId(fileId) ? fileId : null
}
