/** Message content as sent, and its validation. */
import { AppError, contentType as contentTypes } from '@hermod/protocol'
import { typingStates } from '@hermod/protocol/events'
import { parseJson } from '../../../lib/json.js'
import { textBytes } from '../../../lib/message-texts.js'

/** The content of a message; omitted texts are "". */
export interface MessageContent {
  readonly contentType: number
  readonly content: string
  readonly attachment: string
  readonly config: string
  readonly ext: string
}

/**
 * @returns the length of all texts in UTF-16 units, which approximate bytes where counting bytes
 * would cost too much
 */
export function textUnits(
  messages: readonly Pick<MessageContent, 'content' | 'attachment' | 'config' | 'ext'>[],
): number {
  let units = 0
  for (const { content, attachment, config, ext } of messages)
    units += content.length + attachment.length + config.length + ext.length
  return units
}

/**
 * Checks the texts of a message against the limit (rule E12).
 * @throws AppError message_too_large
 */
export function requireSize(content: MessageContent, maxBytes: number): void {
  const size = textBytes(content)
  if (size > maxBytes)
    throw new AppError('message_too_large', `${size} bytes of at most ${maxBytes}`)
}

/**
 * Returns the state of a typing signal: an empty text whose ext is an object with `input_status`
 * alone. It reaches connected devices and is never stored, counted or pushed. Any other ext makes a
 * message: null (rule E8a).
 */
export function typingStateOf({
  contentType,
  content,
  attachment,
  ext,
}: MessageContent): (typeof typingStates)[number] | null {
  if (
    contentType !== contentTypes.text ||
    content !== '' ||
    attachment !== '' ||
    !ext.includes('"input_status"')
  )
    return null
  try {
    const parsed = parseJson(ext)
    if (typeof parsed !== 'object' || parsed === null) return null
    const [[name, state] = [], ...others] = Object.entries(parsed)
    if (others.length > 0 || name !== 'input_status') return null
    return typingStates.find((each) => each === state) ?? null
  } catch {
    return null
  }
}
