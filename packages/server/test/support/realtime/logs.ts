/** The logs of a client, by the rules of the realtime contract. */
import {
  contentType,
  type LogHead as Head,
  type Message,
  meaningsOf,
  muteMode,
} from '@hermod/protocol'
import type { Json } from '@hermod/testkit'

export type LogHead = Head

/** Conversation of the contract: both parties, or a group twice; low_id -1: broadcasts. */
export interface LogName {
  readonly low_id: number
  readonly high_id: number
  readonly is_group: boolean
}

/** The fields of a message that are the same for all readers. */
export interface StoredMessage {
  readonly msg_id: number
  readonly seq: number
  readonly sender_id: number
  readonly sender_device_sn: number
  readonly content_type: number
  readonly content: string
  readonly attachment: string
  readonly config: string
  readonly ext: string
  readonly is_system: boolean
  readonly timestamp: number
  readonly edit_timestamp: number
  readonly reactions?: unknown
  readonly pinned?: unknown
}

/** Numbers of a log that events move. */
export interface LogState {
  readonly name: LogName
  change: number
  seq: number
  /** `ask`: the client asks for the head when it shows the conversation. */
  unread: number | 'ask'
  read_seq: number
  peer_read_seq: number
  peer_delivered_seq: number
  hidden_msg_id: number
  /** The status of a group, and the caller's mode. */
  status: number
  msg_mute_mode: number
  /** The number of changes of a group. */
  version: number
  /**
   * Messages up to this one are a hole, since the user joined after them; so the positions are not
   * known either.
   */
  hole_msg_id: number
  /**
   * The client asks for the head when it shows the conversation, since it may not have received all
   * changes.
   */
  isStale: boolean
  readonly messages: Map<number, StoredMessage>
}

/** The mute mode of a member who receives no event of the group's messages. */
export const receivesNothing = muteMode.notReceived

export const logKey = ({ low_id, high_id }: LogName): string => `${low_id}/${high_id}`

/** The conversation in which a user sees the log: the other party, or the group. */
export function peerOf({ low_id, high_id, is_group }: LogName, me: number): number {
  if (is_group || low_id === -1) return Number(high_id)
  return Number(low_id) === me ? Number(high_id) : Number(low_id)
}

/** A log that is new to a client. */
export function emptyLog(name: LogName): LogState {
  const positions = { seq: 0, read_seq: 0, peer_read_seq: 0, peer_delivered_seq: 0 }
  const ids = { hidden_msg_id: 0, hole_msg_id: 0 }
  const ofGroup = { status: 0, msg_mute_mode: 0, version: 0 }
  return {
    ...{ name, change: 0, unread: 0, ...positions, ...ids, ...ofGroup },
    ...{ isStale: false, messages: new Map() },
  }
}

export function logOf(head: LogHead): LogState {
  return {
    name: head.log as unknown as LogName,
    change: Number(head.change),
    seq: Number(head.seq),
    unread: Number(head.unread),
    read_seq: Number(head.read_seq),
    peer_read_seq: Number(head.peer_read_seq),
    peer_delivered_seq: Number(head.peer_delivered_seq),
    hidden_msg_id: Number(head.hidden_msg_id),
    status: Number(head.status ?? 0),
    msg_mute_mode: Number(head.msg_mute_mode ?? 0),
    version: Number(head.version ?? 0),
    hole_msg_id: 0,
    isStale: head.msg_mute_mode === receivesNothing,
    messages: new Map((head.messages ?? []).map((each) => [Number(each.msg_id), messageOf(each)])),
  }
}

/** A message of an event or of sync. */
export function messageOf(data: Json): StoredMessage {
  return {
    msg_id: data.msg_id,
    seq: data.seq,
    sender_id: data.sender_id,
    sender_device_sn: data.sender_device_sn,
    content_type: data.content_type,
    content: data.content,
    attachment: data.attachment,
    config: data.config,
    ext: data.ext,
    is_system: data.is_system,
    timestamp: data.timestamp,
    edit_timestamp: data.edit_timestamp,
    ...(data.reactions !== undefined && { reactions: data.reactions }),
    ...(data.pinned !== undefined && { pinned: data.pinned }),
  }
}

const contentTypes = new Map(
  Object.entries(meaningsOf(contentType)).map(([value, name]) => [String(name), Number(value)]),
)

/** A message of `/message/conversation`. */
export function messageOfHistory(message: Message): StoredMessage {
  const { from_xid, ctype } = message
  return messageOf({
    ...message,
    sender_id: from_xid.uid,
    sender_device_sn: from_xid.device_sn,
    content_type: contentTypes.get(ctype),
  })
}
