import type { ContentType, Draft } from '../api.js'
import type { MessageContent, ReplyTo, UnsentFile } from '../model/records.js'
import { contentTypes } from '../model/words.js'
import { checkId, checkIds, checkOneOf, checkOptionalText, refuse } from './arguments.js'

/** Content type of the message, and file type of the upload, by the media type of a file. */
const fileKinds: readonly (readonly [media: RegExp, type: ContentType, fileType: number])[] = [
  [/^image\//, 'image', 102],
  [/^audio\/amr/, 'audio', 101],
  [/^audio\/mpeg/, 'audio', 104],
  [/^audio\//, 'audio', 100],
  [/^video\//, 'video', 103],
  [/^/, 'file', 100],
]

/** The content of a draft, in the form of a command. */
export interface ReadDraft {
  readonly content: MessageContent
  readonly file?: UnsentFile
  readonly replyTo?: ReplyTo
}

/**
 * Checks and reads a draft.
 * @throws ClientError invalid_argument
 */
export function readDraft(draft: string | Draft): ReadDraft {
  const given: unknown = draft
  if (typeof given !== 'string' && (typeof given !== 'object' || given === null))
    refuse('draft', 'a text or an object')
  const {
    text = '',
    file,
    fileName,
    contentType,
    attachment,
    custom,
    mentions,
    receiptsOf,
    replyTo,
  } = typeof draft === 'string' ? ({ text: draft } as Draft) : draft
  checkOptionalText('draft.text', text)
  checkOptionalText('draft.fileName', fileName)
  if (file !== undefined && !(file instanceof Blob)) refuse('draft.file', 'a File or a Blob')
  if (contentType !== undefined) checkOneOf('draft.contentType', contentType, contentTypes)
  if (text === '' && !file && !attachment && !custom)
    refuse('draft', 'a message with a text, a file, an attachment or custom data')

  if (replyTo && contentType === 'forward') refuse('draft', 'no forwarded message with replyTo')

  const [, ofFile = 'text', fileType = 0] =
    (file && fileKinds.find(([media]) => media.test(file.type))) ?? []
  const name = fileName || (file as Partial<File> | undefined)?.name || 'file'
  const read = jsonOf('draft.attachment', attachment)
  return {
    content: {
      contentType: contentTypes.indexOf(contentType ?? ofFile),
      content: text,
      attachment: file ? JSON.stringify({ dName: name, fLen: file.size, ...attachment }) : read,
      config: configOf(mentions, receiptsOf),
      ext: jsonOf('draft.custom', custom),
    },
    ...(file && { file: { blob: file, name, fileType } }),
    ...(replyTo && { replyTo: replyToOf(replyTo) }),
  }
}

function replyToOf({ id, seq }: NonNullable<Draft['replyTo']>): ReplyTo {
  checkId('draft.replyTo.id', id)
  checkId('draft.replyTo.seq', seq)
  return { msgId: id, seq }
}

/** Returns the texts of the contract for mentions and requested receipts, rule K7; '' without any. */
function configOf(mentions: Draft['mentions'], receiptsOf: Draft['receiptsOf']): string {
  if (mentions !== undefined && mentions !== 'all') checkIds('draft.mentions', mentions)
  if (receiptsOf !== undefined) checkIds('draft.receiptsOf', receiptsOf)
  if (!mentions && !receiptsOf) return ''
  return JSON.stringify({
    ...(mentions && (mentions === 'all' ? { mentionAll: true } : { mentionList: mentions })),
    ...(receiptsOf && { groupMemberList: receiptsOf }),
  })
}

function jsonOf(name: string, value: object | undefined): string {
  if (value === undefined) return ''
  try {
    if (typeof value === 'object' && value !== null) return JSON.stringify(value)
  } catch {
    // An object with a cycle or a bigint has no JSON.
  }
  return refuse(name, 'an object of JSON')
}
