import { fileReferenceKind, type Int64, systemUserId } from '@hermod/protocol'
import { sql } from '../../../db/kysely.js'
import { isFileId } from '../file-model.js'
import { linkedFileId } from '../links/file-links.js'

/** A message, an avatar or a shared file, which can refer to files of its app. */
export interface FileReferrer {
  /** A value of {@link fileReferenceKind}. */
  readonly kind: number
  /** The two keys of a message's conversation; else the user or the group, twice. */
  readonly lowId: Int64
  readonly highId: Int64
  /** The message or the shared file; 0 for an avatar. */
  readonly itemId: Int64
}

/** A referrer and a file that it refers to, which keeps the file. */
export interface FileReference extends FileReferrer {
  readonly appId: string
  readonly fileId: string
}

/** A text that may refer to files, and its referrer. */
export interface ReferencingText {
  readonly referrer: FileReferrer
  readonly text: string
}

/** Includes the forms of the equals sign that encoders of JSON and of addresses write. */
const signature = /sign(?:=|%3d|\\+u003d)([\w-]+)/gi

/** A part of every address of a file. */
const commonPart = 'sign'

/** A cheap test that is true for every text with the address of a file. */
export function mayReferToFiles(text: string): boolean {
  return text.includes(commonPart)
}

/** The SQL form of {@link mayReferToFiles} for the attachment of a row. */
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

/**
 * Returns the references of a text: by addresses of files; an avatar or shared file may also be a
 * bare file ID.
 */
export function referencesOf(appId: string, { referrer, text }: ReferencingText): FileReference[] {
  const linked = mayReferToFiles(text)
    ? Array.from(text.matchAll(signature), ([, link = '']) => linkedFileId(appId, link))
    : []
  const isBareId = referrer.kind !== fileReferenceKind.message && isFileId(text)
  const valid = linked.filter((fileId) => fileId !== null)
  const fileIds = new Set(isBareId ? [text] : valid)
  return [...fileIds].map((fileId) => ({ ...referrer, appId, fileId }))
}

/** Returns the key of a reference within its app. */
export function referenceName(reference: FileReference): string {
  return `${reference.fileId} ${referrerName(reference)}`
}

/** Returns the key of a referrer within its app. */
export function referrerName({ kind, lowId, highId, itemId }: FileReferrer): string {
  return `${kind} ${lowId} ${highId} ${itemId}`
}

/** Removes duplicates. */
export function distinctReferrers(referrers: readonly FileReferrer[]): FileReferrer[] {
  return [...new Map(referrers.map((referrer) => [referrerName(referrer), referrer])).values()]
}

/** Describes a referrer for operators. */
export function referrerText({ kind, lowId, highId, itemId }: FileReferrer): string {
  if (kind === fileReferenceKind.message)
    return `message ${itemId} of conversation ${lowId}/${highId}`
  if (kind === fileReferenceKind.userAvatar)
    return lowId === systemUserId ? 'avatar of the system' : `avatar of user ${lowId}`
  return kind === fileReferenceKind.groupAvatar
    ? `avatar of group ${lowId}`
    : `shared file ${itemId} of group ${lowId}`
}
