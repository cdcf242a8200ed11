import { fileReferenceKind, type Int64, systemUserId } from '@hermod/protocol'
import { sql } from '../../../db/kysely.js'
import { linkedFileId } from '../credentials/file-links.js'
import { isFileId } from '../file-model.js'

/** Something that can name files, within its app. */
export interface FileHolder {
  /** As {@link fileReferenceKind}. */
  readonly kind: number
  /** The conversation of a message; else the user or the group, twice. */
  readonly lowId: Int64
  readonly highId: Int64
  /** The message or the shared file; of an avatar 0. */
  readonly itemId: Int64
}

/** Something that names a file, so that the file stays. */
export interface FileReference extends FileHolder {
  readonly appId: string
  readonly fileId: string
}

/** A text that may name files, and whose it is. */
export interface NamingText {
  readonly holder: FileHolder
  readonly text: string
}

/** The equals sign is written so by encoders of JSON and of addresses too. */
const signature = /sign(?:=|%3d|\\+u003d)([\w-]+)/gi

/** Stands in every text that names a file by its address. */
const commonPart = 'sign'

/** Cheap, and true of every text that names a file by its address. */
export function mayNameFiles(text: string): boolean {
  return text.includes(commonPart)
}

/** As {@link mayNameFiles}, of the attachment of a row. */
export const attachmentMayNameFiles = sql<boolean>`attachment like ${sql.lit(`%${commonPart}%`)}`

export function messageHolder(lowId: Int64, highId: Int64, messageId: Int64): FileHolder {
  return { kind: fileReferenceKind.message, lowId, highId, itemId: messageId }
}

export function userAvatarHolder(userId: Int64): FileHolder {
  return { kind: fileReferenceKind.userAvatar, lowId: userId, highId: userId, itemId: 0 }
}

export function groupAvatarHolder(groupId: Int64): FileHolder {
  return { kind: fileReferenceKind.groupAvatar, lowId: groupId, highId: groupId, itemId: 0 }
}

export function sharedFileHolder(groupId: Int64, sharedFileId: Int64): FileHolder {
  return {
    kind: fileReferenceKind.sharedFile,
    lowId: groupId,
    highId: groupId,
    itemId: sharedFileId,
  }
}

/** The files of an app that a text names: by their addresses, and avatars and shared files by their bare names too. */
export function referencesOf(appId: string, { holder, text }: NamingText): FileReference[] {
  const linked = mayNameFiles(text)
    ? Array.from(text.matchAll(signature), ([, link = '']) => linkedFileId(appId, link))
    : []
  const isBareName = holder.kind !== fileReferenceKind.message && isFileId(text)
  const named = linked.filter((fileId) => fileId !== null)
  const fileIds = new Set(isBareName ? [text] : named)
  return [...fileIds].map((fileId) => ({ ...holder, appId, fileId }))
}

/** Names a reference within its app. */
export function referenceName(reference: FileReference): string {
  return `${reference.fileId} ${holderName(reference)}`
}

/** Names what holds a file within its app. */
export function holderName({ kind, lowId, highId, itemId }: FileHolder): string {
  return `${kind} ${lowId} ${highId} ${itemId}`
}

/** Each of the holders once. */
export function distinctHolders(holders: readonly FileHolder[]): FileHolder[] {
  return [...new Map(holders.map((holder) => [holderName(holder), holder])).values()]
}

/** For people. */
export function holderText({ kind, lowId, highId, itemId }: FileHolder): string {
  if (kind === fileReferenceKind.message)
    return `message ${itemId} of conversation ${lowId}/${highId}`
  if (kind === fileReferenceKind.userAvatar)
    return lowId === systemUserId ? 'avatar of the system' : `avatar of user ${lowId}`
  return kind === fileReferenceKind.groupAvatar
    ? `avatar of group ${lowId}`
    : `shared file ${itemId} of group ${lowId}`
}
