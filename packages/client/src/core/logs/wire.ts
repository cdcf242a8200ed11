/**
 * Answers and events of the server about logs, as the client understands them. No function throws:
 * a value of another shape becomes undefined, and a member of another type gets its empty value.
 */
import { logKeyOf } from '../../model/log-key.js'
import { ownField, withFields } from '../../model/message-fields.js'
import type {
  LogKey,
  LogRecord,
  MessageFields,
  MessageRecord,
  QuoteRecord,
  ReplyTo,
} from '../../model/records.js'
import { quoteStates } from '../../model/words.js'

/** An object of the wire, whose members are not checked. */
export type Members = Readonly<Record<string, unknown>>

/** A reaction that a user has added or removed. */
export interface UserReaction {
  readonly userId: number
  readonly key: string
  readonly isOn: boolean
}

/** A change of a log. A skipped one has a position when its message is gone. */
export type FoldedChange = { readonly change: number } & (
  | { readonly kind: 'stored' | 'edited'; readonly message: MessageRecord }
  | {
      readonly kind: 'recalled'
      readonly seq: number
      readonly msgId: number
      readonly senderId: number
      readonly isSystem?: boolean
    }
  | {
      readonly kind: 'updated'
      readonly seq: number
      readonly set: MessageFields
      /** The message after an edit, as all readers see it. */
      readonly edited?: MessageRecord
      /** The reactions that users have added and removed; absent: none. */
      readonly reacted?: readonly UserReaction[]
    }
  | {
      readonly kind: 'skipped'
      readonly seq?: number
      /** The numbers in a row that it stands for, `change` the last of them; absent: 1. */
      readonly count?: number
      /** Absent when the message is not known as recalled. */
      readonly senderId?: number | undefined
      readonly isSystem?: boolean
    }
  /** A kind that this client does not know, or a change without what belongs to it. */
  | { readonly kind: 'unknown' }
)

/** The state of a log, at one moment of the server. */
export interface Head {
  readonly key: LogKey
  /** Fields that are taken over as they are. */
  readonly state: Pick<
    LogRecord,
    'status' | 'version' | 'joinedMsgId' | 'muteMode' | 'pushMode' | 'groupType'
  >
  readonly positions: Pick<
    LogRecord,
    'readSeq' | 'deliveredSeq' | 'peerReadSeq' | 'peerDeliveredSeq'
  >
  readonly change: number
  readonly seq: number
  readonly unread: number
  /** 0: none. */
  readonly latestMsgId: number
  readonly hiddenMsgId: number
  /** Present: `changes` are all changes above this number. */
  readonly from?: number
  readonly changes: readonly FoldedChange[]
  /** The newest messages, newest first; absent: they did not fit. */
  readonly messages?: readonly MessageRecord[]
  /** Originals of replies among the changes and messages. */
  readonly quotes: readonly QuoteRecord[]
}

/** A page of message.changes. */
export interface ChangesPage {
  readonly from?: number
  readonly changes: readonly FoldedChange[]
  readonly next: number
  readonly change: number
  readonly hiddenMsgId: number
  readonly quotes: readonly QuoteRecord[]
}

/** A page of message.history. */
export interface HistoryPage {
  readonly messages: readonly MessageRecord[]
  readonly quotes: readonly QuoteRecord[]
  readonly fromSeq: number
  readonly beforeSeq: number
}

/** A page of message.sync. */
export interface SyncPage {
  readonly epoch: string
  readonly isReset: boolean
  readonly pos?: string
  readonly isList: boolean
  readonly heads: readonly Head[]
  readonly gone: readonly LogKey[]
  readonly user: readonly { readonly kind: number; readonly ref: number }[]
  readonly hasMore: boolean
  readonly cursor: string
}

const changeKinds: Readonly<Record<string, FoldedChange['kind']>> = {
  'message.stored': 'stored',
  'message.replaced': 'edited',
  'message.appended': 'edited',
  'message.updated': 'updated',
  'message.recalled': 'recalled',
  'change.skipped': 'skipped',
  'changes.skipped': 'skipped',
}

/** Returns the members of an object; of anything else none. */
export function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {}
}

/** Returns a list; for anything else an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** @returns undefined: no integer from 0 that is exact */
export function countOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined
}

/** Returns a text; for anything else ''. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Returns the IDs in a list, such as `user_ids` of an event. */
export function idsOf(value: unknown): readonly number[] {
  return listOf(value).filter((each): each is number => countOf(each) !== undefined)
}

/** @returns undefined: the value is no message */
export function messageOf(log: LogKey, value: unknown): MessageRecord | undefined {
  const {
    seq,
    msg_id,
    sender_id,
    sender_device_sn,
    content_type,
    content,
    attachment,
    config,
    ext,
    is_system,
    timestamp,
    edit_timestamp,
    transaction_id,
    reply_to,
    own,
    // Of events.
    conversation,
    actor_id,
    user_ids,
    ...fields
  } = membersOf(value)
  const [at, msgId, senderId] = [seq, msg_id, sender_id].map(countOf)
  if (!at || !msgId || senderId === undefined) return undefined
  const transactionId = countOf(Number(transaction_id))
  const replyTo = replyToOf(reply_to)
  return withFields(
    {
      log,
      seq: at,
      msgId,
      senderId,
      senderDeviceSn: countOf(sender_device_sn) ?? 0,
      contentType: countOf(content_type) ?? 0,
      content: textOf(content),
      attachment: textOf(attachment),
      config: textOf(config),
      ext: textOf(ext),
      isSystem: is_system === true,
      timestamp: countOf(timestamp) ?? 0,
      editTimestamp: countOf(edit_timestamp) ?? 0,
      ...(transactionId && { transactionId }),
      ...(replyTo && { replyTo }),
    },
    { ...fields, ...Object.assign({}, ...textsOf(own).map((key) => ownField(key, true))) },
  )
}

function replyToOf(value: unknown): ReplyTo | undefined {
  const { msg_id, seq } = membersOf(value)
  const [msgId, at] = [msg_id, seq].map(countOf)
  return msgId && at ? { msgId, seq: at } : undefined
}

/** Returns the quotes of an answer. */
export function quotesOf(value: unknown): readonly QuoteRecord[] {
  return listOf(value).flatMap((each): QuoteRecord[] => {
    const original = replyToOf(each)
    const members = membersOf(each)
    const state = quoteStates.find((known) => known === members.state)
    if (!original || !state) return []
    const [senderId, contentType] = [members.sender_id, members.content_type].map(countOf)
    const isPresent = state === 'present'
    return [
      {
        ...original,
        state,
        ...(senderId !== undefined && { senderId }),
        ...(isPresent && { contentType: contentType ?? 0, excerpt: textOf(members.excerpt) }),
      },
    ]
  })
}

/** Returns the texts in a list. */
function textsOf(value: unknown): readonly string[] {
  return listOf(value).filter((each): each is string => typeof each === 'string')
}

/** Returns the reactions that users have added and removed, of an event. */
export function reactedOf(value: unknown): readonly UserReaction[] {
  return listOf(value).flatMap((each) => {
    const { user_id, key, on } = membersOf(each)
    const userId = countOf(user_id)
    return userId === undefined ? [] : [{ userId, key: textOf(key), isOn: on === true }]
  })
}

function messagesOf(log: LogKey, value: unknown): readonly MessageRecord[] {
  return listOf(value).flatMap((each) => messageOf(log, each) ?? [])
}

/** Reads a change, of an event or of a page. */
export function changeOf(
  log: LogKey,
  {
    event,
    change,
    data,
  }: { readonly event: string; readonly change: number; readonly data: unknown },
): FoldedChange {
  const kind = Object.hasOwn(changeKinds, event) ? changeKinds[event] : 'unknown'
  const members = membersOf(data)
  const seq = countOf(members.seq)
  if (kind === 'skipped') {
    const sender = { senderId: countOf(members.sender_id), isSystem: members.is_system === true }
    const count = countOf(members.count)
    return { change, kind, ...(seq && { seq }), ...(count && { count }), ...sender }
  }
  if (kind === 'recalled') {
    const [msgId, senderId] = [members.msg_id, members.sender_id].map(countOf)
    const isSystem = members.is_system === true
    if (seq && msgId) return { change, kind, seq, msgId, senderId: senderId ?? 0, isSystem }
  }
  if (kind === 'updated' && seq && typeof members.set === 'object')
    return { change, kind, seq, set: membersOf(members.set), reacted: reactedOf(members.reacted) }
  if (kind === 'stored' || kind === 'edited') {
    const message = messageOf(log, members)
    if (message) return { change, kind, message }
  }
  return { change, kind: 'unknown' }
}

/**
 * Reads the change of an event, which is the same for all readers: an edit leaves what belongs to the
 * reader as it is.
 */
export function eventChangeOf(log: LogKey, frame: Parameters<typeof changeOf>[1]): FoldedChange {
  const read = changeOf(log, frame)
  if (read.kind !== 'edited') return read
  const { change, message: edited } = read
  return { change, kind: 'updated', seq: edited.seq, set: edited.fields ?? {}, edited }
}

function foldedChangesOf(log: LogKey, value: unknown): readonly FoldedChange[] {
  return listOf(value).flatMap((each) => {
    const { event, change, data } = membersOf(each)
    const number = countOf(change)
    return number === undefined
      ? []
      : [changeOf(log, { event: textOf(event), change: number, data })]
  })
}

/**
 * @param quoted the quotes of the page, by original
 * @returns undefined: the value is no head of a log
 */
export function headOf(
  value: unknown,
  quoted: ReadonlyMap<number, QuoteRecord> = new Map(),
): Head | undefined {
  const data = membersOf(value)
  const key = logKeyOf(data.log)
  const [change, seq, from] = [data.change, data.seq, data.from].map(countOf)
  if (key === undefined || change === undefined || seq === undefined) return undefined
  const count = (name: string) => countOf(data[name]) ?? 0
  const changes = foldedChangesOf(key, data.changes)
  const messages = messagesOf(key, data.messages)
  const replies = [
    ...messages,
    ...changes.flatMap((each) => ('message' in each ? each.message : [])),
  ]
  return {
    key,
    state: presentMembers({
      status: countOf(data.status),
      version: countOf(data.version),
      joinedMsgId: countOf(data.joined_msg_id),
      muteMode: countOf(data.msg_mute_mode),
      pushMode: countOf(data.msg_push_mode),
      groupType: countOf(data.group_type),
    }),
    positions: {
      readSeq: count('read_seq'),
      deliveredSeq: count('delivered_seq'),
      peerReadSeq: count('peer_read_seq'),
      peerDeliveredSeq: count('peer_delivered_seq'),
    },
    change,
    seq,
    unread: count('unread'),
    latestMsgId: count('latest_msg_id'),
    hiddenMsgId: count('hidden_msg_id'),
    ...(from !== undefined && { from }),
    changes,
    ...(Array.isArray(data.messages) && { messages }),
    quotes: replies.flatMap(({ replyTo }) => (replyTo && quoted.get(replyTo.msgId)) ?? []),
  }
}

/** @returns undefined: the answer is no page of changes */
export function changesPageOf(log: LogKey, value: unknown): ChangesPage | undefined {
  const data = membersOf(value)
  const [from, next, change] = [data.from, data.next, data.change].map(countOf)
  if (next === undefined || change === undefined) return undefined
  const hiddenMsgId = countOf(data.hidden_msg_id) ?? 0
  const quotes = quotesOf(data.quotes)
  const page = { changes: foldedChangesOf(log, data.changes), next, change, hiddenMsgId, quotes }
  return { ...page, ...(from !== undefined && { from }) }
}

/** @returns undefined: the answer is no page of history */
export function historyPageOf(log: LogKey, value: unknown): HistoryPage | undefined {
  const data = membersOf(value)
  const [fromSeq, beforeSeq] = [data.from_seq, data.before_seq].map(countOf)
  if (!fromSeq || !beforeSeq || !Array.isArray(data.messages)) return undefined
  const messages = messagesOf(log, data.messages)
  return { messages, fromSeq, beforeSeq, quotes: quotesOf(data.quotes) }
}

/** @returns undefined: the answer is no page of sync */
export function syncPageOf(value: unknown): SyncPage | undefined {
  const data = membersOf(value)
  if (!Array.isArray(data.heads) || typeof data.epoch !== 'string') return undefined
  const quoted = new Map(quotesOf(data.quotes).map((quote) => [quote.msgId, quote]))
  return {
    epoch: data.epoch,
    isReset: data.reset !== undefined && data.reset !== null,
    ...(typeof data.pos === 'string' && data.pos !== '' && { pos: data.pos }),
    isList: data.list === true,
    heads: data.heads.flatMap((each) => headOf(each, quoted) ?? []),
    gone: listOf(data.gone).flatMap((each) => logKeyOf(each) ?? []),
    user: listOf(data.user).flatMap((each) => {
      const { kind, ref } = membersOf(each)
      const [kindNumber, refNumber] = [kind, ref].map(countOf)
      return kindNumber === undefined || refNumber === undefined
        ? []
        : [{ kind: kindNumber, ref: refNumber }]
    }),
    hasMore: data.more === true,
    cursor: textOf(data.cursor),
  }
}

/** Leaves out members that are undefined. */
function presentMembers<T extends object>(
  value: T,
): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as {
    readonly [K in keyof T]?: Exclude<T[K], undefined>
  }
}
