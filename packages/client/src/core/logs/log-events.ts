import { groupKey, logKeyOf } from '../../model/log-key.js'
import type { ServerEvent } from '../part.js'
import type { LogKey } from '../../model/records.js'
import {
  type Fold,
  foldChange,
  foldDeletion,
  foldPosition,
  forgetLast,
  hide,
  needHead,
  needSpreadHead,
  readAll,
  set,
} from './log-fold.js'
import type { Logs } from './logs.js'
import { countOf, eventChangeOf, idsOf, type Members, membersOf, textOf } from './wire.js'

/** The outcome of an event: applied, or something has to be requested. */
export type EventResult =
  | { readonly type: 'applied' }
  /** Changes below this one are missing. */
  | { readonly type: 'gap'; readonly key: LogKey; readonly change: number }
  /** The client does not know the log. */
  | { readonly type: 'unknownLog'; readonly key: LogKey }
  /** The log is not stored: there is none, or an answer on its way brings it, which may be older. */
  | { readonly type: 'noLog'; readonly key: LogKey }
  /** A change of no log that the client could name. */
  | { readonly type: 'nonsense' }

const applied: EventResult = { type: 'applied' }
const dissolved = 1

const joins = ['group.created', 'group.joined', 'group.presence']
const leaves = ['group.left', 'group.kicked', 'group.blocked', 'group.absence']
/** Settings of a group that change what a head says. */
const settings = ['history_visible', 'read_ack']

/** Applies an event to the log that it concerns. Other events do nothing. */
export function applyEvent(
  logs: Logs,
  { event, data, change }: ServerEvent,
  me: number,
): EventResult {
  const members = membersOf(data)
  if (change !== undefined) return applyChange(logs, { event, data, change })
  if (event === 'message.read') return applyPosition(logs, 'read', members, me)
  if (event === 'message.delivered') return applyPosition(logs, 'delivered', members, me)
  if (event === 'conversation.deleted') return applyDeletion(logs, members)
  if (event === 'message.expired') return applyExpiry(logs, members)
  if (event.startsWith('group.')) return applyGroupEvent(logs, event, members, me)
  return applied
}

function applyChange(logs: Logs, frame: Required<ServerEvent>): EventResult {
  const key = logKeyOf(membersOf(frame.data).conversation)
  if (key === undefined) return { type: 'nonsense' }
  const { change } = frame
  const wasKnown = logs.get(key) !== undefined
  const result = logs.fold(
    key,
    (fold, reader) => {
      const result = foldChange(fold, eventChangeOf(key, frame), reader)
      // The flag is stored, so that the gap is filled after a restart too.
      if (result === 'gap' && wasKnown) needHead(fold)
      return result
    },
    'changes',
  )
  if (result !== 'gap') return applied
  return wasKnown ? { type: 'gap', key, change } : { type: 'unknownLog', key }
}

function applyPosition(
  logs: Logs,
  kind: 'read' | 'delivered',
  data: Members,
  me: number,
): EventResult {
  const [actorId, seq, msgId = 0] = [data.actor_id, data.seq, data.msg_id].map(countOf)
  if (actorId === undefined || seq === undefined) return applied
  return change(logs, data, (fold) => foldPosition(fold, kind, { actorId, seq, msgId }, me))
}

function applyDeletion(logs: Logs, data: Members): EventResult {
  const [msgId, seq] = [data.hidden_msg_id, data.seq].map(countOf)
  if (msgId === undefined || seq === undefined) return applied
  return change(logs, data, (fold) => foldDeletion(fold, msgId, seq))
}

function applyExpiry(logs: Logs, data: Members): EventResult {
  const msgId = countOf(data.msg_id)
  return msgId === undefined ? applied : change(logs, data, (fold) => foldDeletion(fold, msgId, 0))
}

/** Changes numbers of the log that an event names. */
function change(logs: Logs, { conversation }: Members, run: (fold: Fold) => void): EventResult {
  const key = logKeyOf(conversation)
  if (key === undefined) return applied
  if (!logs.get(key)) return { type: 'noLog', key }
  logs.fold(key, run, 'numbers')
  return applied
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
    return { type: 'noLog', key }
  }
  const record = logs.get(key)
  if (!record) return { type: 'noLog', key }
  const version = Math.max(record.version ?? 0, countOf(data.version) ?? 0)
  if (version > (record.version ?? 0)) logs.fold(key, (fold) => set(fold, { version }))
  if (event === 'group.destroyed') logs.fold(key, (fold) => dissolve(fold), 'numbers')
  if (event === 'group.message_setting' && (isActor || isMoved)) setModes(logs, key, data)
  if (event === 'group.info_updated' && settings.includes(textOf(data.property)))
    logs.fold(key, (fold) => needSpreadHead(fold), 'numbers')
  return applied
}

function dissolve(fold: Fold): void {
  set(fold, { status: dissolved })
  readAll(fold)
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
        if (data.history_visible === false && msgId) hide(fold, msgId)
        else if (seq > 0) forgetLast(fold)
        needHead(fold)
      },
      'numbers',
    )
  return applied
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
