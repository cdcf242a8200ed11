import { transientEventSchemas } from '@hermod/protocol/events'
import { isJsonObject, type JsonObject } from '../lib/json.js'
import type { BusMessages, Topic } from './bus.js'

/** A message of another node. */
export type ReceivedMessage = {
  readonly [T in Topic]: { readonly topic: T; readonly message: BusMessages[T] }
}[Topic]

type Check = (value: unknown) => boolean

const maxNameLength = 1_000
const isName: Check = (value) => typeof value === 'string' && value.length <= maxNameLength
const isText: Check = (value) => typeof value === 'string'
const isNumber: Check = (value) => typeof value === 'number'
const isFlag: Check = (value) => typeof value === 'boolean'
const isId: Check = (value) => typeof value === 'number' || typeof value === 'bigint'
const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)
const isAbsentOr =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)
const isAnswer: Check = (value) =>
  value === null || typeof value === 'boolean' || typeof value === 'number'
const isQuestion: Check = (value) =>
  isJsonObject(value) && isJsonObject(value.about) && isAbsentOr(isNumber)(value.text)
/** Stored events come from the database alone. */
const isEvent: Check = (value) =>
  isJsonObject(value) &&
  Object.hasOwn(transientEventSchemas, String(value.kind)) &&
  isJsonObject(value.data)
const isReceivers: Check = (value) =>
  isJsonObject(value) &&
  (isListOf(isId)(value.userIds) || (isId(value.groupId) && isId(value.exceptId)))

/** The members of the messages of each topic. */
const members: { readonly [T in Topic]: Readonly<Record<keyof BusMessages[T], Check>> } = {
  'cache.invalidated': { cache: isName, key: isText },
  'outbox.appended': { appId: isName, position: isAbsentOr(isNumber) },
  'jobs.enqueued': { kind: isName },
  'session.displaced': { to: isName, appId: isName, userId: isId, sessionId: isNumber },
  'node.question': {
    to: isName,
    from: isName,
    id: isNumber,
    questions: isListOf(isQuestion),
    texts: isListOf(isText),
  },
  'node.answer': { to: isName, id: isNumber, answers: isListOf(isAnswer) },
  'stream.appended': {
    appId: isName,
    lowId: isId,
    highId: isId,
    isGroup: isFlag,
    messageId: isNumber,
    index: isNumber,
    offset: isNumber,
    text: isText,
    after: isNumber,
  },
  'event.transient': { appId: isName, event: isEvent, receivers: isReceivers },
}

/**
 * Checks a message of another process: nodes of another build may have other topics and members.
 * @returns null when this build does not understand it
 */
export function toMessage(entry: unknown): ReceivedMessage | null {
  if (!Array.isArray(entry)) return null
  const [topic, message] = entry as readonly unknown[]
  return isTopic(topic) && isJsonObject(message) && hasMembers(topic, message)
    ? ({ topic, message } as unknown as ReceivedMessage)
    : null
}

function isTopic(topic: unknown): topic is Topic {
  return typeof topic === 'string' && Object.hasOwn(members, topic)
}

function hasMembers(topic: Topic, message: JsonObject): boolean {
  return Object.entries<Check>(members[topic]).every(([name, check]) => check(message[name]))
}
