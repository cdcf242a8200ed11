/**
 * Checks of /push/notify that its schema cannot express (docs/reference/operations/push.md; rule
 * G3).
 */
import { androidChannels } from '../../enums.js'
import type { ErrorName } from '../../errors.js'
import { type Fields, isFields, jsonBytes } from './fields-of-body.js'
import { pushTypeFaults } from './push-type-faults.js'

const audienceLists = ['tag', 'alias', 'user_id', 'push_token'] as const
const vendorBlocks = ['android', ...androidChannels] as const

const extBytes = 4096
const imageSuffixes = /\.(?:jpg|jpeg|png)$/i
const otherImages = /\.(?:bmp|gif|webp|tiff?|heic|heif|avif|svg|ico)$/i

/** Returns the error of a body with these violations: a list that is too long has its own (rule A4). */
export function notifyError(violations: readonly string[]): ErrorName {
  const isTooLong = violations.some((text) => /^audience\.\w+ must have at most /.test(text))
  return isTooLong ? 'audience_too_long' : 'invalid_parameter'
}

/**
 * Violations of a push body beyond its types; each text begins with the name of the field. A member
 * that could not be decoded is undefined, and the schema reports it.
 */
export function notifyFaults({ audience, setting, message }: Fields): string[] {
  return [
    ...(isFields(audience) ? audienceFaults(audience) : []),
    ...(isFields(message) ? messageFaults(message) : []),
    ...(isFields(message) ? pushTypeFaults(message, isFields(setting) ? setting : {}) : []),
  ]
}

function audienceFaults(audience: Fields): string[] {
  const given = audienceLists.filter((name) => name in audience)
  const [only, second] = given
  const names = audienceLists.join(', ')
  if (only === undefined) return [`audience must be all or an object with one of ${names}`]
  if (second !== undefined) return [`audience must have only one of ${names}`]
  const values = audience[only]
  if (!Array.isArray(values)) return []
  if (values.length === 0) return [`audience.${only} must not be empty`]
  return values.flatMap((value, index) =>
    typeof value === 'string' && value.trim() === ''
      ? [`audience.${only}[${index}] must not be blank`]
      : [],
  )
}

function messageFaults(message: Fields): string[] {
  if (Object.keys(message).length === 0) return ['message must not be blank']
  return [
    ...attachmentFaults(message),
    ...timeFaults(message),
    ...extFaults(message),
    ...vendorBlocks.flatMap((name) => intentFaults(name, message[name])),
  ]
}

function attachmentFaults({ type, attachment_url: url }: Fields): string[] {
  if (typeof url !== 'string' || url === '') return []
  const field = 'message.attachment_url'
  if (!/^https?:\/\/[^\s/]+/i.test(url)) return [`${field} must be an http or https URL`]
  const path = url.replace(/[?#].*$/s, '')
  const isImage = imageSuffixes.test(path)
  return otherImages.test(path) || (type === 'image' && !isImage)
    ? [`${field} must end in jpg, jpeg or png when it is an image`]
    : []
}

function timeFaults({ show_begin_time: begin, show_end_time: end }: Fields): string[] {
  const isOrdered = typeof begin !== 'number' || typeof end !== 'number' || !end || begin < end
  return isOrdered ? [] : ['message.show_end_time must be after message.show_begin_time']
}

function extFaults({ ext }: Fields): string[] {
  if (ext === undefined) return []
  return jsonBytes(ext) > extBytes
    ? [`message.ext must have at most ${extBytes} bytes as JSON`]
    : []
}

function intentFaults(name: string, block: unknown): string[] {
  if (!isFields(block) || block.click_action !== 'intent') return []
  return !('intent' in block) || block.intent === ''
    ? [`message.${name}.intent is required when click_action is intent`]
    : []
}
