import { randomBytes } from 'node:crypto'
import { filePurpose, fileType, type Int64, targetType } from '@hermod/protocol'

/** Key of a file. */
export interface FileKey {
  readonly appId: string
  /** See {@link newFileId}. */
  readonly fileId: string
}

/** The recipient of a file. */
export type FileRecipient =
  | { readonly type: 'user' | 'group'; readonly id: Int64 }
  /** All users of the app: avatars. */
  | { readonly type: 'app'; readonly id: 0 }

/** A file that is complete in the store; it never changes. */
export interface StoredFile extends FileKey {
  /** Distinguishes uploads with the same ticket. */
  readonly uploadId: string
  /** 0: the system */
  readonly ownerId: Int64
  /** A value of {@link filePurpose}. */
  readonly purpose: number
  /** A value of {@link fileType}; 0: none. */
  readonly fileType: number
  /** The recipient of the ticket; links may name others. */
  readonly recipient: FileRecipient
  /** '': the client gave none */
  readonly name: string
  /** The type that its content shows. */
  readonly contentType: string
  /** Bytes. */
  readonly size: number
  /** CRC-32 of all bytes; null: not known. */
  readonly crc32: number | null
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

/** The recipient of avatars. */
export const wholeApp: FileRecipient = { type: 'app', id: 0 }

/** The life of a ticket. */
export const ticketLifeMs = 3_600_000

const recipientTypes = { user: targetType.user, group: targetType.group, app: 0 } as const

/** Returns a recipient's type as rows and signed texts hold it. */
export function recipientNumber({ type }: FileRecipient): number {
  return recipientTypes[type]
}

/** The opposite of {@link recipientNumber}. */
export function fileRecipientOf(type: number, id: Int64): FileRecipient {
  if (type === targetType.user) return { type: 'user', id }
  return type === targetType.group ? { type: 'group', id } : wholeApp
}

const base32 = '0123456789abcdefghjkmnpqrstvwxyz'
const fileIdLength = 26
const uploadIdLength = 8
const removalIdLength = 8
const fileIdForm = new RegExp(`^[${base32}]{${fileIdLength}}$`)
const uploadIdForm = new RegExp(`^[${base32}]{${uploadIdLength}}$`)

/** 26 random letters and digits (130 bits): too many to guess. */
export function newFileId(): string {
  return randomText(fileIdLength)
}

/** Reports whether a text has the form of a file ID. */
export function isFileId(text: string): boolean {
  return fileIdForm.test(text)
}

/** 8 random letters and digits. */
export function newUploadId(): string {
  return randomText(uploadIdLength)
}

/** Reports whether a text has the form of an upload ID. */
export function isUploadId(text: string): boolean {
  return uploadIdForm.test(text)
}

/** The ID of one removal of files: 8 random letters and digits. */
export function newRemovalId(): string {
  return randomText(removalIdLength)
}

function randomText(length: number): string {
  return Array.from(randomBytes(length), (byte) => base32[byte % base32.length]).join('')
}

/** The prefix of the keys of a file: its original and its renditions. */
export function keyPrefix({ appId, fileId }: FileKey): string {
  return `${folderOf(appId, fileId)}${fileId}.`
}

/** The key of the file as it was uploaded. */
export function originalKey(file: FileKey & Pick<StoredFile, 'uploadId'>): string {
  return `${keyPrefix(file)}${file.uploadId}`
}

/** @param rendition lower-case letters and digits */
export function renditionKey(
  file: FileKey & Pick<StoredFile, 'uploadId'>,
  rendition: string,
): string {
  return `${originalKey(file)}.${rendition}`
}

const keyForm = /^app-([^/]+)\/[^/]+\/([^./]+)\.([^./]+)/

/** Parses the key of a file or of one of its renditions; null: it is another key. */
export function fileOfKey(key: string): (FileKey & Pick<StoredFile, 'uploadId'>) | null {
  const [, appId, fileId, uploadId] = keyForm.exec(key) ?? []
  return appId !== undefined && fileId !== undefined && uploadId !== undefined
    ? { appId, fileId, uploadId }
    : null
}

/** Returns the key under which a client stores a file that it sends straight to the store. */
export function incomingKey(fileId: string): string {
  return `${incomingPrefix}${fileId}`
}

const incomingPrefix = 'incoming/'

/** Reports whether a key is temporary: of an upload in progress, or of a check of the store. */
export function isTemporaryKey(key: string): boolean {
  return key.startsWith(incomingPrefix) || key.startsWith('check/')
}

/** The prefix of the keys of all files of an app. */
export function appPrefix(appId: string): string {
  return `app-${appId}/`
}

function folderOf(appId: string, fileId: string): string {
  return `${appPrefix(appId)}${fileId.slice(0, 2)}/`
}

/** Reports whether a file is in the list of shared files, which every member of the group may read. */
export function isShared({ fileType: type }: Pick<StoredFile, 'fileType'>): boolean {
  return type >= fileType.sharedPlain
}

/** Tests whether the file was uploaded as an avatar of a user or group. */
export function isAvatar({ purpose }: Pick<StoredFile, 'purpose'>): boolean {
  return purpose !== filePurpose.chat
}
