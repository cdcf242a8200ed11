import { AppError } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { EventLoopBudget } from '../../../lib/concurrency/event-loop-budget.js'
import type { OutboxReader, PlacedUserChange } from '../../../outbox/outbox-reader.js'
import { decodePos, encodePos, type OutboxPosition } from '../../../outbox/pos.js'
import type { ChargeRows } from '../../charge-rows.js'
import { readCursor, unknownCursor, writeCursor } from '../../paging.js'
import type { UserKey } from '../../users/user-model.js'
import type { BroadcastSenders } from '../conversations/broadcast-senders.js'
import type { ReadRights } from '../conversations/readable-log.js'
import {
  broadcastStream,
  type Conversation,
  directConversation,
  groupConversation,
  isBroadcastStream,
  peerOf,
} from '../model/conversation-model.js'
import type { ConversationListStore } from '../readers/conversation-list-store.js'
import { maxSyncBytes } from '../reading/page-reads.js'
import type { HeadContent, HeadContents } from './head-content.js'
import { type StoredHead, lastChange, logKey } from './head-model.js'
import type { HeadStore, ListedPeer, ListPlace } from './head-store.js'
import type { OutboxHistory, SyncStore } from './sync-store.js'
import type { SyncWalk, WalkedLog } from './sync-walk.js'

export interface SyncServiceOptions {
  readonly database: Database
  readonly store: SyncStore
  readonly rights: ReadRights
  readonly heads: HeadStore
  readonly contents: HeadContents
  readonly walk: SyncWalk
  readonly outbox: Pick<OutboxReader, 'listUserChanges'>
  readonly lists: Pick<ConversationListStore, 'count'>
  readonly broadcastSenders: BroadcastSenders
}

/** A log and the number that the client has of it. */
export interface HeldLog {
  readonly log: Conversation
  readonly change: number
}

/** A request of `message.sync`, decoded. */
export interface SyncRequest {
  /** The pos of the client; '' = it has none */
  readonly after: string
  /** Requests the list, whatever `after` is. */
  readonly list: boolean
  /** The cursor of the page of the list before; '' = the first page */
  readonly cursor: string
  /** Logs that are answered in any case. */
  readonly have: readonly HeldLog[]
  /** Clamped to 200. */
  readonly limit: number
  /** Clamped to 50. */
  readonly window: number
  /** True: skipped numbers in a row are one entry of changes. */
  readonly joinsSkipped: boolean
}

/** A head with its changes or messages. */
export interface FilledHead {
  readonly head: StoredHead
  readonly content: HeadContent
}

/** A page of the logs that have changed since the client's position. */
export interface SyncResult {
  readonly epoch: string
  /** The client's history is not that of the server. Then there is nothing else. */
  readonly isReset: boolean
  /** null for a page of the list after the first: the client keeps the pos that it has. */
  readonly pos: string | null
  readonly isList: boolean
  readonly heads: readonly FilledHead[]
  /** Logs that the user does not have. */
  readonly gone: readonly Conversation[]
  readonly userChanges: readonly PlacedUserChange[]
  readonly hasMore: boolean
  /** null: no page of the list follows. */
  readonly cursor: string | null
}

/** A page before its heads are read. */
interface LogSelection {
  readonly epoch: string
  /** null for a page of the list after the first. */
  readonly pos: OutboxPosition | null
  readonly isList: boolean
  readonly logs: readonly PagedLog[]
  readonly userChanges: readonly PlacedUserChange[]
  readonly hasMore: boolean
  readonly cursor: string | null
}

interface PagedLog {
  readonly log: Conversation
  readonly wanted: WantedContent
}

/**
 * The content of a head: all changes above a number, the newest messages, or nothing because the
 * log has no new changes.
 */
type WantedContent = number | 'newest' | 'unchanged'

interface ListCursor extends ListPlace {
  /** User changes up to this position are in the pages before. */
  readonly userPosition: number
}

interface PageStart {
  readonly history: OutboxHistory
  readonly limit: number
}

const maxLogs = 200
const maxWindow = 50
const maxUserChanges = 1_000
/** Rows that are read from the database for one call; behind more, the list costs less. */
const maxRows = 5_000
/** Bytes of a head as JSON, roughly. */
const headBytes = 400
/** Heads that are read in one turn of the event loop. */
const headsPerStep = 50
const listStart: ListPlace = { place: Number.MAX_SAFE_INTEGER, peerId: 0 }

/** Answers what a client has missed (decision page 042). */
export class SyncService {
  readonly #budget = new EventLoopBudget({ perTurn: 1 })

  constructor(private readonly options: SyncServiceOptions) {}

  /** @throws AppError invalid_parameter for a malformed pos or cursor */
  async sync(user: UserKey, request: SyncRequest, charge: ChargeRows): Promise<SyncResult> {
    const after = request.after === '' ? null : decodePos(request.after)
    if (request.after !== '' && after === null)
      throw new AppError('invalid_parameter', 'after must be a pos that the server has answered')
    const cursor = readSyncCursor(request.cursor)
    const { database, store } = this.options
    // Read before everything else, so that no answer is older than its pos.
    const history = await database.read((db) =>
      store.readHistory(db, user.appId, after?.position ?? 0),
    )
    if (after && isOfAnotherHistory(after, history)) return resetTo(history.epoch)
    const page = { history, limit: Math.min(request.limit, maxLogs) }
    const isDelta = after && !request.list && !cursor && this.#canWalk(user.appId, after, history)
    const delta = isDelta ? await this.#delta(user, { after, ...page }, charge) : null
    return this.#answer(
      user,
      delta ?? (await this.#list(user, { after, cursor, ...page }, charge)),
      request,
    )
  }

  /**
   * Tests whether the rows after a position are stored and few, and the position is known to be one of
   * this history.
   */
  #canWalk(
    appId: string,
    { position }: OutboxPosition,
    { head, timeAtPosition, hasNext }: OutboxHistory,
  ): boolean {
    if (position === head.position) return true
    const isKnown = position === 0 || timeAtPosition !== null
    if (!isKnown || !hasNext) return false
    return head.position - position <= maxRows || this.options.walk.isInMemory(appId, position)
  }

  /** @returns null when rows of the walk are purged */
  async #delta(
    user: UserKey,
    { after, history, limit }: PageStart & { readonly after: OutboxPosition },
    charge: ChargeRows,
  ): Promise<LogSelection | null> {
    const { database, heads, walk } = this.options
    const { epoch, head } = history
    const page = { epoch, isList: false, cursor: null }
    if (after.position === head.position)
      return { ...page, pos: after, logs: [], userChanges: [], hasMore: false }
    const [groups, { userChanges, upTo }] = await Promise.all([
      database.read((db) => heads.listGroups(db, user)),
      this.#userChanges(user, after.position),
    ])
    const walked = await walk.run(user, { after, head, maxLogs: limit, groups })
    charge(groups.size + userChanges.length + (walked?.rows ?? 0))
    if (!walked) return null
    const logs = walked.logs.map(toPagedLog)
    const { pos, hasMore } = walked
    if (upTo === null || upTo >= pos.position)
      return { ...page, pos, logs, userChanges, hasMore: hasMore || upTo !== null }
    const time = await database.read((db) => this.options.store.timeOf(db, user.appId, upTo))
    return { ...page, pos: { epoch, position: upTo, time }, logs, userChanges, hasMore: true }
  }

  async #list(
    user: UserKey,
    {
      after,
      history,
      cursor,
      limit,
    }: PageStart & { readonly after: OutboxPosition | null; readonly cursor: ListCursor | null },
    charge: ChargeRows,
  ): Promise<LogSelection> {
    const { database, heads, lists } = this.options
    const { epoch, head } = history
    const userAfter = cursor?.userPosition ?? after?.position ?? head.position
    const [rows, count, { userChanges, upTo }] = await Promise.all([
      database.read((db) => heads.list(db, user, { after: cursor ?? listStart, limit: limit + 1 })),
      database.read((db) => lists.count(db, user)),
      this.#userChanges(user, userAfter),
    ])
    charge(count + userChanges.length)
    const peers = firstPeers(rows, limit)
    const logs = peers.flatMap((peer) => logsOfPeer(user, peer))
    const last = peers.at(-1) ?? cursor ?? { place: 0, peerId: 0 }
    const isLast = peers.length === rows.length && upTo === null
    return {
      epoch,
      pos: cursor ? null : head,
      isList: true,
      logs: logs.map((log) => ({ log, wanted: 'newest' })),
      userChanges,
      hasMore: false,
      cursor: isLast ? null : writeCursor(last.place, last.peerId, upTo ?? head.position),
    }
  }

  /** @returns upTo: the last position that the page holds as a whole, null when no change follows */
  async #userChanges(
    user: UserKey,
    after: number,
  ): Promise<{ userChanges: PlacedUserChange[]; upTo: number | null }> {
    const { database, outbox } = this.options
    const rows = await database.read((db) =>
      outbox.listUserChanges(db, user, after, maxUserChanges + 1),
    )
    if (rows.length <= maxUserChanges) return { userChanges: rows, upTo: null }
    // Several changes may share a position; the page ends between two positions.
    const end = rows.at(-1)?.position
    const userChanges = rows.filter(({ position }) => position !== end)
    const upTo = userChanges.at(-1)?.position
    return upTo === undefined ? { userChanges: rows, upTo: end ?? after } : { userChanges, upTo }
  }

  async #answer(
    user: UserKey,
    { pos, logs: paged, ...page }: LogSelection,
    { have, window, joinsSkipped }: SyncRequest,
  ): Promise<SyncResult> {
    const { contents } = this.options
    const held = have.map(({ log, change }): PagedLog => ({ log, wanted: change }))
    const logs = await this.#withPairs(user, [...held, ...paged])
    const found: (StoredHead | null)[] = []
    for await (const step of this.#budget.chunks(logs, headsPerStep)) {
      const keys = step.map(({ log }) => log)
      found.push(...(await this.#findHeads(user, keys)))
    }
    const known = logs.flatMap(({ wanted }, index) => {
      const head = found[index]
      return head ? [{ head, known: knownNumber(head, wanted) }] : []
    })
    const filled = await contents.fill(known, {
      window: Math.min(window, maxWindow),
      maxBytes: maxSyncBytes - headBytes * known.length,
      joinsSkipped,
    })
    const isHeld = new Set(have.map(({ log }) => logKey(log)))
    return {
      ...page,
      isReset: false,
      pos: pos && encodePos(pos),
      heads: known.map(({ head }, index) => ({ head, content: filled[index] ?? { kind: 'none' } })),
      gone: logs
        .filter(({ log }, index) => !found[index] && (log.isGroup || isHeld.has(logKey(log))))
        .map(({ log }) => log),
    }
  }

  /** @returns null for logs that the user may not read, or that have not begun, in the order of the logs */
  async #findHeads(user: UserKey, logs: readonly Conversation[]): Promise<(StoredHead | null)[]> {
    const { database, rights, heads } = this.options
    const readable = await database.read((db) => rights.check(db, user, logs))
    return database.read((db) => Promise.all(readable.map((log) => log && heads.find(db, log))))
  }

  /** Adds the other log of each peer, and leaves out logs that are there already. */
  async #withPairs(user: UserKey, logs: readonly PagedLog[]): Promise<PagedLog[]> {
    if (logs.length === 0) return []
    const { appId, userId } = user
    const senders = await this.options.broadcastSenders.find(appId)
    const all = new Map<string, PagedLog>()
    const add = (each: PagedLog) => {
      const key = logKey(each.log)
      if (!all.has(key)) all.set(key, each)
    }
    const isNamed = new Map(logs.map((each) => [logKey(each.log), each]))
    for (const each of logs) {
      add(each)
      const { log } = each
      if (log.isGroup) continue
      const peerId = isBroadcastStream(log) ? log.highId : peerOf(log, userId)
      const pair = isBroadcastStream(log)
        ? directConversation(appId, userId, peerId)
        : broadcastStream(appId, peerId)
      if (isBroadcastStream(log) || senders.has(peerId))
        add(isNamed.get(logKey(pair)) ?? { log: pair, wanted: 'unchanged' })
    }
    return [...all.values()]
  }
}

function isOfAnotherHistory(
  after: OutboxPosition,
  { epoch, head, timeAtPosition, importedAt }: OutboxHistory,
): boolean {
  if (after.epoch !== epoch || after.position > head.position) return true
  if (after.position < importedAt) return true
  // A time of 0 is not known.
  return timeAtPosition !== null && after.time !== 0 && timeAtPosition !== after.time
}

function resetTo(epoch: string): SyncResult {
  return {
    epoch,
    isReset: true,
    pos: null,
    isList: false,
    heads: [],
    gone: [],
    userChanges: [],
    hasMore: false,
    cursor: null,
  }
}

function toPagedLog({ log, firstChange }: WalkedLog): PagedLog {
  if (firstChange === null) return { log, wanted: 'unchanged' }
  return { log, wanted: firstChange === 0 ? 'newest' : firstChange - 1 }
}

function knownNumber(head: StoredHead, wanted: WantedContent): number | null {
  if (wanted === 'newest') return null
  return wanted === 'unchanged' ? lastChange(head) : wanted
}

/** The peers of a page, as many as have `limit` logs together; at least one. */
function firstPeers(rows: readonly ListedPeer[], limit: number): ListedPeer[] {
  let logs = 0
  const end = rows.findIndex(({ isGroup, hasDirect, hasStream }) => {
    logs += isGroup + hasDirect + hasStream
    return logs > limit
  })
  return rows.slice(0, end < 0 ? rows.length : Math.max(1, end))
}

function logsOfPeer(
  { appId, userId }: UserKey,
  { peerId, isGroup, hasDirect, hasStream }: ListedPeer,
): Conversation[] {
  if (isGroup) return [groupConversation(appId, peerId)]
  return [
    ...(hasDirect ? [directConversation(appId, userId, peerId)] : []),
    ...(hasStream ? [broadcastStream(appId, peerId)] : []),
  ]
}

function readSyncCursor(cursor: string): ListCursor | null {
  const parts = readCursor(cursor, 3)
  if (!parts) return null
  const [place, peerId, userPosition] = parts
  if (place === undefined || peerId === undefined || userPosition === undefined)
    throw unknownCursor()
  return { place, peerId, userPosition }
}
