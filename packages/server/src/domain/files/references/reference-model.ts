import { fileReferenceKind, type Int64, systemUserId } from '@hermod/protocol'
import { sql } from '../../../db/kysely.js'
import { isFileId } from '../file-model.js'
import { linkedFileId } from '../links/file-links.js'

/** Something that can name files, within its app. */
export interface FileReferrer {
  /** As {@link fileReferenceKind}. */
  readonly kind: number
  /** The conversation of a message; else the user or the group, twice. */
  readonly lowId: Int64
  readonly highId: Int64
  /** The message or the shared file; of an avatar 0. */
  readonly itemId: Int64
}

/** Something that names a file, so that the file stays. */
export interface FileReference extends FileReferrer {
  readonly appId: string
  readonly fileId: string
}

/** A text that may name files, and whose it is. */
export interface ReferencingText {
  readonly referrer: FileReferrer
  readonly text: string
}

/** The equals sign is written so by encoders of JSON and of addresses too. */
const signature = /sign(?:=|%3d|\\+u003d)([\w-]+)/gi

/** Stands in every text that names a file by its address. */
const commonPart = 'sign'

/** Cheap, and true of every text that names a file by its address. */
export function mayReferToFiles(text: string): boolean {
  return text.includes(commonPart)
}

/** As {@link mayReferToFiles}, of the attachment of a row. */
export const attachmentMayReferToFiles = sql<boolean>`attachment like ${sql.lit(`%${commonPart}%`)}`

export function messageReferrer(lowId: Int64, highId: Int64, messageId: Int64): FileReferrer {
  return { kind: fileReferenceKind.message, lowId, highId, itemId: messageId }
}

export function userAvatarReferrer(userId: Int64): FileReferrer {
  return { kind: fileReferenceKind.userAvatar, lowId: userId, highId: userId, itemId: 0 }
}

export function groupAvatarReferrer(groupId: Int64): FileReferrer {
  return { kind: fileReferenceKind.groupAvatar, lowId: groupId, highId: groupId, itemId: 0 }
}

export function sharedFileReferrer(groupId: Int64, sharedFileId: Int64): FileReferrer {
  return {
    kind: fileReferenceKind.sharedFile,
    lowId: groupId,
    highId: groupId,
    itemId: sharedFileId,
  }
}

/** The files of an app that a text names: by their addresses, and avatars and shared files by their bare names too. */
export function referencesOf(appId: string, { referrer, text }: ReferencingText): FileReference[] {
  const linked = mayReferToFiles(text)
    ? Array.from(text.matchAll(signature), ([, link = '']) => linkedFileId(appId, link))
    : []
  const isBareName = referrer.kind !== fileReferenceKind.message && isFileId(text)
  const named = linked.filter((fileId) => fileId !== null)
  const fileIds = new Set(isBareName ? [text] : named)
  return [...fileIds].map((fileId) => ({ ...referrer, appId, fileId }))
}

/** Names a reference within its app. */
export function referenceName(reference: FileReference): string {
  return `${reference.fileId} ${referrerName(reference)}`
}

/** Names what holds a file within its app. */
export function referrerName({ kind, lowId, highId, itemId }: FileReferrer): string {
  return `${kind} ${lowId} ${highId} ${itemId}`
}

/** Each of the referrers once. */
export function distinctReferrers(referrers: readonly FileReferrer[]): FileReferrer[] {
  return [...new Map(referrers.map((referrer) => [referrerName(referrer), referrer])).values()]
}

/** For people. */
export function referrerText({ kind, lowId, highId, itemId }: FileReferrer): string {
  if (kind === fileReferenceKind.message)
    return `message ${itemId} of conversation ${lowId}/${highId}`
  if (kind === fileReferenceKind.userAvatar)
    return lowId === systemUserId ? 'avatar of the system' : `avatar of user ${lowId}`
  return kind === fileReferenceKind.groupAvatar
    ? `avatar of group ${lowId}`
    : `shared file ${itemId} of group ${lowId}`
}
