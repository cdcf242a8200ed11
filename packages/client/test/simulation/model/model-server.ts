/** A server in memory by the rules of the contract, with the faults that its clients must survive. */
import { closeCodes, type ErrorName } from '@hermod/protocol'
import type { Json } from '@hermod/testkit'
import { Answers } from './answers.js'
import { ModelSession, type SessionLink } from './model-session.js'
import { type Operation, operations } from './operations.js'
import { Refusal } from './refusal.js'
import type {
  ModelServerOptions,
  Observer,
  ServerAccess,
  SessionName,
  Wished,
} from './server-access.js'
import { type Database, type ModelUser, userOf } from './state.js'
import type { ModelEvent, Write } from './writes.js'

interface Token {
  readonly userId: number
  isExpired: boolean
}

export class ModelServer implements ServerAccess {
  database: Database
  readonly sessions = new Set<ModelSession>()
  /** Calls by operation. */
  readonly calls = new Map<string, number>()
  /** Heads that were answered. */
  heads = 0
  /** What clients did against the contract. */
  readonly wrong: string[] = []
  readonly refused = new Set<string>()
  readonly unconditional = new Set<number>()
  readonly conflicts = new Map<number, number>()
  readonly wished: Wished[] = []
  observe: Observer | undefined
  /** Until this time the server takes no connection. */
  downUntil = 0
  /** The next calls fail with this error, and do not run. */
  failures: ErrorName[] = []
  /** So many of the next calls run, and are not answered. */
  unanswered = 0
  /** Added to the server's time: clocks jump. */
  clockOffset = 1_700_000_000_000
  readonly #tokens = new Map<string, Token>()
  #ids = 0

  constructor(readonly options: ModelServerOptions) {
    this.database = {
      epoch: 'epoch 1',
      hasOneReaction: options.random.chance(0.3),
      nextMsgId: 1_000,
      users: new Map(),
      groups: new Map(),
      logs: new Map(),
      rows: [],
      purgedTo: 0,
      userChanges: new Map(),
      transactions: new Map(),
    }
  }

  /** Milliseconds since 1970. */
  get now(): number {
    return this.options.agenda.now + this.clockOffset
  }

  get answers(): Answers {
    return new Answers(this.database, this.options.limits)
  }

  nextId(): number {
    return ++this.#ids
  }

  addUser(id: number): ModelUser {
    const user: ModelUser = {
      id,
      nickName: `user ${id}`,
      broadcastsAfter: this.database.nextMsgId - 1,
      pins: [],
      contacts: new Map(),
      requests: new Set(),
      devices: 0,
      deviceSn: new Map(),
    }
    this.database.users.set(id, user)
    return user
  }

  addGroup(id: number, userIds: readonly number[], isHistoryVisible: boolean): void {
    const members = new Map(
      userIds.map((userId) => [
        userId,
        { joinedMsgId: 0, joinedAt: 0, muteMode: 0, pushMode: 0, muted: [] },
      ]),
    )
    this.database.groups.set(id, {
      id,
      name: `group ${id}`,
      status: 0,
      version: 1,
      updatedAt: 1,
      isHistoryVisible,
      members,
    })
  }

  /** Appends a row to the outbox, and begins to tell the connected devices. */
  commit({ row, events, userChanges: changes = [] }: Write): void {
    const { rows, userChanges } = this.database
    rows.push({ ...row, time: this.now })
    const pos = rows.length
    for (const { user, kind, ref } of changes) {
      const ofUser = userChanges.get(user) ?? new Map()
      userChanges.set(user, ofUser)
      ofUser.set(`${kind} ${ref}`, { kind, ref, pos })
    }
    for (const event of events)
      for (const session of this.sessions)
        if (event.users.includes(session.userId)) session.enqueue(event, pos)
  }

  /** Shows something to connected devices that no outbox has; some of it is lost. */
  show(event: ModelEvent): void {
    for (const session of this.sessions)
      if (event.users.includes(session.userId) && this.options.random.chance(0.8))
        session.enqueue(event, this.database.rows.length)
  }

  /** Takes a connection; undefined: the server is away. */
  accept(link: SessionLink): ModelSession | undefined {
    if (this.options.agenda.now < this.downUntil) return undefined
    const session = new ModelSession(this, link)
    this.sessions.add(session)
    return session
  }

  token(userId: number): string {
    const token = `token ${this.nextId()}`
    this.#tokens.set(token, { userId, isExpired: false })
    return token
  }

  /** @returns the user, or the refusal and its close code */
  check(token: string): number | 'token_expired' | 'token_invalid' {
    const found = this.#tokens.get(token)
    if (!found) return 'token_invalid'
    return found.isExpired ? 'token_expired' : found.userId
  }

  /** Ends all tokens of a user, and the sessions with them. */
  expireTokens(userId: number): void {
    for (const token of this.#tokens.values()) if (token.userId === userId) token.isExpired = true
    this.closeAll(closeCodes.tokenExpired, (session) => session.userId === userId)
  }

  closeAll(code: number, isMeant: (session: SessionName) => boolean = () => true): void {
    for (const session of [...this.sessions]) if (isMeant(session)) session.close(code)
  }

  leave(session: SessionName): void {
    this.sessions.delete(session as ModelSession)
  }

  /** Ends with all connections, and comes back after a time. */
  restart(awayMs: number, isKilled: boolean): void {
    this.downUntil = this.options.agenda.now + awayMs
    if (isKilled) for (const session of [...this.sessions]) session.cut()
    else this.closeAll(closeCodes.shutdown)
  }

  /** Replaces everything by a copy of an earlier moment, as another history. */
  restore(backup: Database): void {
    const { nextMsgId } = this.database
    const epoch = `epoch ${this.nextId() + 1}`
    this.database = { ...structuredClone(backup), epoch, nextMsgId }
    this.closeAll(closeCodes.epochChanged)
  }

  /** Runs a call. @throws Refusal */
  run(session: SessionName, op: string, data: Json): Json {
    this.calls.set(op, (this.calls.get(op) ?? 0) + 1)
    const failure = this.failures.pop()
    if (failure) throw new Refusal(failure)
    const operation: Operation | undefined = operations[op]
    if (!operation) {
      this.wrong.push(`the operation ${op} is not known to the model`)
      throw new Refusal('operation_unknown')
    }
    return operation({ server: this, session, userId: session.userId }, data)
  }

  deviceSn(userId: number, guid: string): number {
    const user = userOf(this.database, userId)
    const known = user.deviceSn.get(guid)
    if (known !== undefined) return known
    user.deviceSn.set(guid, ++user.devices)
    return user.devices
  }
}
