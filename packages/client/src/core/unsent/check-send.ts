import { failureOf } from '../../errors.js'
import type { Command, Failure } from '../inputs.js'

/** Bytes of UTF-8 of the four texts together; the default of the server. */
const maxTextBytes = 65_536
/** Content types from here on act on another message (rule E8). */
const firstOperationType = 8

/** @returns the first fault of a new message */
export function checkSend({
  transactionId,
  conversationId,
  content,
}: Extract<Command, { type: 'send' }>): Failure | undefined {
  const { contentType, ...texts } = content
  const isId = (id: number, least: number) => Number.isSafeInteger(id) && id >= least
  if (!isId(transactionId, 1)) return invalid('transactionId is an integer from 1 to 2^53 - 1')
  if (!isId(conversationId, 0)) return invalid('the conversation is the ID of a user or a group')
  if (!isId(contentType, 0) || contentType >= firstOperationType)
    return invalid(`contentType is an integer from 0 to ${firstOperationType - 1}`)
  for (const name of ['content', 'attachment', 'config', 'ext'] as const)
    if (typeof texts[name] !== 'string') return invalid(`${name} is a text`)
  const { length } = new TextEncoder().encode(
    texts.content + texts.attachment + texts.config + texts.ext,
  )
  if (length > maxTextBytes)
    return invalid(
      `text, attachment, config and ext have ${length} bytes of UTF-8 together, at most ${maxTextBytes} are allowed`,
    )
  return undefined
}

const invalid = (message: string) => failureOf('invalid_argument', message)
