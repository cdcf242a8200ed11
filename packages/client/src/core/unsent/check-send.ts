import { failureOf } from '../../errors.js'
import type { Command, Failure } from '../inputs.js'
import { bytesOf } from '../link/calls.js'

/** Bytes of UTF-8 of the four texts together; the default of the server. */
const maxTextBytes = 65_536
/** Content types above this one act on another message (rule E8). */
const maxContentType = 7

/** @returns the first fault of a new message */
export function checkSend({
  conversationId,
  content,
}: Extract<Command, { type: 'send' }>): Failure | undefined {
  const { contentType, content: text, attachment, config, ext } = content
  const length = bytesOf(text + attachment + config + ext)
  const fault = !Number.isSafeInteger(conversationId)
    ? 'the ID of the conversation is an integer'
    : !(contentType >= 0 && contentType <= maxContentType)
      ? `contentType is an integer from 0 to ${maxContentType}`
      : length > maxTextBytes
        ? `text, attachment, config and ext have ${length} bytes, at most ${maxTextBytes} are allowed`
        : undefined
  return fault === undefined ? undefined : failureOf('invalid_argument', fault)
}
