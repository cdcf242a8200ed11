import type { EventFrame } from '../part.js'
import { groupKey, logKeyOf } from '../log-key.js'
import type { LogKey } from '../records.js'
import { foldChange, foldDeletion, foldMark, needHead, set } from './log-fold.js'
import type { Logs } from './logs.js'
import { changeOf, countOf, idsOf, membersOf, type Members, textOf } from './wire.js'

/** What an event leaves to be requested. */
export type EventResult =
  | { readonly type: 'applied' }
  /** Changes below this one are missing. */
  | { readonly type: 'gap'; readonly key: LogKey; readonly change: number }
  /** The client does not know the log. */
  | { readonly type: 'unknownLog'; readonly key: LogKey }
  /** A change of no log that the client could name. */
  | { readonly type: 'nonsense' }

const applied: EventResult = { type: 'applied' }
const dissolved = 1

const joins = ['group.created', 'group.joined', 'group.presence']
const leaves = ['group.left', 'group.kicked', 'group.blocked', 'group.absence']
/** Settings of a group that change what a head says. */
const settings = ['history_visible', 'read_ack']

/** Applies an event to the log that it concerns. Events of other things do nothing. */
export function applyEvent(
  logs: Logs,
  { event, data, change }: EventFrame,
  me: number,
): EventResult {
  const members = membersOf(data)
  if (change !== undefined) return applyChange(logs, { event, data, change })
  if (event === 'message.read') applyMark(logs, 'read', members, me)
  else if (event === 'message.delivered') applyMark(logs, 'delivered', members, me)
  else if (event === 'conversation.deleted') applyDeletion(logs, members)
  else if (event === 'message.expired') applyExpiry(logs, members)
  else if (event.startsWith('group.')) return applyGroupEvent(logs, event, members, me)
  return applied
}

function applyChange(logs: Logs, frame: Required<EventFrame>): EventResult {
  const key = logKeyOf(membersOf(frame.data).conversation)
  if (key === undefined) return { type: 'nonsense' }
  const { change } = frame
  const wasKnown = logs.get(key) !== undefined
  const result = logs.fold(
    key,
    (fold, reader) => {
      const result = foldChange(fold, changeOf(key, frame), reader)
      // The flag is stored, so that the gap is filled after a restart too.
      if (result === 'gap' && wasKnown) needHead(fold)
      return result
    },
    'changes',
  )
  if (result !== 'gap') return applied
  return wasKnown ? { type: 'gap', key, change } : { type: 'unknownLog', key }
}

function applyMark(logs: Logs, kind: 'read' | 'delivered', data: Members, me: number): void {
  const key = logKeyOf(data.conversation)
  const [actorId, seq, msgId = 0] = [data.actor_id, data.seq, data.msg_id].map(countOf)
  if (key === undefined || actorId === undefined || seq === undefined || !logs.get(key)) return
  logs.fold(key, (fold) => foldMark(fold, kind, { actorId, seq, msgId }, me), 'numbers')
}

function applyDeletion(logs: Logs, data: Members): void {
  const key = logKeyOf(data.conversation)
  const [msgId, seq] = [data.hidden_msg_id, data.seq].map(countOf)
  if (key === undefined || msgId === undefined || seq === undefined || !logs.get(key)) return
  logs.fold(key, (fold) => foldDeletion(fold, msgId, seq), 'numbers')
}

function applyExpiry(logs: Logs, data: Members): void {
  const key = logKeyOf(data.conversation)
  const msgId = countOf(data.msg_id)
  if (key === undefined || msgId === undefined || !logs.get(key)) return
  logs.fold(key, (fold) => foldDeletion(fold, msgId, 0), 'numbers')
}

function applyGroupEvent(logs: Logs, event: string, data: Members, me: number): EventResult {
  const groupId = countOf(data.group_id)
  if (groupId === undefined) return applied
  const key = groupKey(groupId)
  const userIds = idsOf(data.user_ids)
  const isActor = data.actor_id === me
  const isMoved = userIds.includes(me) || (userIds.length === 0 && isActor)
  if (isMoved && joins.includes(event)) return join(logs, key, data)
  if (isMoved && leaves.includes(event)) {
    logs.drop(key)
    return applied
  }
  const record = logs.get(key)
  if (!record) return applied
  const version = Math.max(record.version ?? 0, countOf(data.version) ?? 0)
  if (version > (record.version ?? 0)) logs.fold(key, (fold) => set(fold, { version }))
  if (event === 'group.destroyed')
    logs.fold(key, (fold) => set(fold, { status: dissolved, unread: 0 }), 'numbers')
  if (event === 'group.message_setting' && (isActor || isMoved)) setModes(logs, key, data)
  if (event === 'group.info_updated' && settings.includes(textOf(data.property)))
    logs.fold(key, (fold) => needHead(fold), 'numbers')
  return applied
}

/** The event names the end of the log; unread messages and modes come with the head. */
function join(logs: Logs, key: LogKey, data: Members): EventResult {
  const end = membersOf(data.log)
  const [change, seq, msgId] = [end.change, end.seq, end.msg_id].map(countOf)
  if (logs.get(key)) logs.fold(key, needHead, 'numbers')
  else if (change === undefined || seq === undefined) return { type: 'unknownLog', key }
  else
    logs.fold(
      key,
      (fold) => {
        set(fold, { change, seq, ...(msgId && { joinedMsgId: msgId }) })
        if (seq > 0) fold.record = withoutLast(fold.record)
        needHead(fold)
      },
      'numbers',
    )
  return applied
}

function withoutLast<T extends { readonly last?: unknown }>({ last: _unknown, ...record }: T) {
  return record
}

function setModes(logs: Logs, key: LogKey, data: Members): void {
  const setting = membersOf(data.setting)
  const [muteMode, pushMode] = [setting.msg_mute_mode, setting.msg_push_mode].map(countOf)
  logs.fold(
    key,
    (fold) => {
      if (muteMode !== undefined) set(fold, { muteMode })
      if (pushMode !== undefined) set(fold, { pushMode })
      needHead(fold)
    },
    'numbers',
  )
}
