import type { Draft, Message } from '../api.js'
import type { MessageContent, UnsentFile } from '../model/records.js'
import { checkIds, checkOptionalText, refuse } from './arguments.js'

/** Content type of the message, and file type of the upload, by the media type of a file. */
const fileKinds: readonly (readonly [media: RegExp, contentType: number, fileType: number])[] = [
  [/^image\//, 1, 102],
  [/^audio\/amr/, 2, 101],
  [/^audio\/mpeg/, 2, 104],
  [/^audio\//, 2, 100],
  [/^video\//, 3, 103],
  [/^/, 4, 100],
]
/** The greatest content type of a message that is no operation on another one: forward. */
const maxContentType = 7

/** The content of a draft, in the form of a command. */
export interface ReadDraft {
  readonly content: MessageContent
  readonly file?: UnsentFile
}

/** The member of the config of a message with the IDs from which read receipts are requested. */
const receiptsMember = 'groupMemberList'

/** Tests whether the sender of a message has requested read receipts. */
export function asksForReceipts({ raw }: Message): boolean {
  return objectInText(raw.config)?.[receiptsMember] !== undefined
}

/**
 * Checks and reads a draft.
 * @param receipts members who are asked for a read receipt
 * @throws ClientError invalid_argument
 */
export function readDraft(draft: string | Draft, receipts?: readonly number[]): ReadDraft {
  const given: unknown = draft
  if (typeof given !== 'string' && (typeof given !== 'object' || given === null))
    refuse('draft', 'a text or an object')
  const {
    text = '',
    file,
    fileName,
    contentType,
    attachment,
    ext = '',
    config = '',
  } = typeof draft === 'string' ? { text: draft } : (draft as Draft)
  checkOptionalText('draft.text', text)
  checkOptionalText('draft.ext', ext)
  checkOptionalText('draft.config', config)
  checkOptionalText('draft.fileName', fileName)
  if (file !== undefined && !(file instanceof Blob)) refuse('draft.file', 'a File or a Blob')
  if (contentType !== undefined && !(Number.isInteger(contentType) && isContentType(contentType)))
    refuse('draft.contentType', `an integer from 0 to ${maxContentType}`)
  if (attachment !== undefined && (typeof attachment !== 'object' || attachment === null))
    refuse('draft.attachment', 'an object')
  if (text === '' && !file && !attachment && ext === '')
    refuse('draft', 'a message with a text, a file, an attachment or an ext')

  const [, ofFile = 0, fileType = 0] =
    (file && fileKinds.find(([media]) => media.test(file.type))) ?? []
  const name = fileName || (file as Partial<File> | undefined)?.name || 'file'
  return {
    content: {
      contentType: contentType ?? ofFile,
      content: text,
      attachment: jsonOf(file ? { dName: name, fLen: file.size, ...attachment } : attachment),
      config: receipts === undefined ? config : withReceipts(config, receipts),
      ext,
    },
    ...(file && { file: { blob: file, name, fileType } }),
  }
}

function isContentType(value: number): boolean {
  return value >= 0 && value <= maxContentType
}

function withReceipts(config: string, receipts: readonly number[]): string {
  checkIds('receipts', receipts)
  const members = objectInText(config || '{}') ?? refuse('draft.config', 'an object of JSON')
  return JSON.stringify({ ...members, [receiptsMember]: receipts })
}

function objectInText(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? { ...value }
      : undefined
  } catch {
    return undefined
  }
}

function jsonOf(attachment: object | undefined): string {
  if (attachment === undefined) return ''
  try {
    return JSON.stringify(attachment)
  } catch {
    return refuse('draft.attachment', 'an object of JSON')
  }
}
