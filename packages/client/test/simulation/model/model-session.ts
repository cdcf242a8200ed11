/** One connection of the model server: its calls, and the events that wait for it. */
import { closeCodes, type ErrorName, errorCatalogue } from '@hermod/protocol'
import type { Json } from '@hermod/testkit'
import { goneAt } from './answers.js'
import type { Refusal } from './refusal.js'
import type { ServerAccess, SessionName } from './server-access.js'
import type { ModelLog } from './state.js'
import type { ModelEvent } from './writes.js'

/** The side of the network. */
export interface SessionLink {
  /** Of the device, for checks. */
  readonly owner: string
  frame(text: string): void
  close(code: number, reason: string): void
  cut(): void
}

interface Waiting {
  readonly event: ModelEvent
  readonly position: number
}

export const pingMs = 25_000

export class ModelSession implements SessionName {
  userId = 0
  guid: string | undefined
  deviceSn = 0
  id = 0
  isOpen = false
  #isEnded = false
  /** True: events are left out until the reader has caught up. */
  #isBehind = false
  #isMissing = false
  /** Events that are not written yet, in the order of each lane. */
  readonly #lanes = new Map<string, Waiting[]>()
  /** Positions of frames that are lost, by lane. */
  readonly #lost = new Map<string, number>()
  #shownPos = 0
  #inFlight = 0
  #stopHeartbeat = () => {}

  constructor(
    private readonly server: ServerAccess,
    readonly link: SessionLink,
  ) {}

  get owner(): string {
    return this.link.owner
  }

  get #random() {
    return this.server.options.random
  }

  #after(ms: number, run: () => void): () => void {
    return this.server.options.agenda.after(ms, () => {
      if (!this.#isEnded) run()
    })
  }

  /** Takes a frame of the client. */
  receive(text: string): void {
    if (this.#isEnded) return
    const { id, op, data } = JSON.parse(text)
    if (op === 'session.open') {
      this.#open(id, data)
      return
    }
    if (!this.isOpen) {
      this.close(closeCodes.notOpened)
      return
    }
    // A probe of the connection has its text ID, and may come in addition.
    if (++this.#inFlight > this.server.options.maxInFlight + 1)
      this.server.wrong.push(`${this.owner} has more calls in flight than the session allows`)
    this.#after(this.#random.integer(0, 5), () => this.#run(id, op, data))
  }

  #run(id: unknown, op: string, data: Json): void {
    let answer: Json
    try {
      answer = { id, code: 200, message: null, ...this.server.run(this, op, data) }
    } catch (error) {
      answer = { id, ...failureOf(error) }
    }
    const text = JSON.stringify(answer)
    const isUnanswered = this.server.unanswered > 0
    if (isUnanswered) this.server.unanswered--
    this.#after(this.#random.integer(0, 5), () => {
      this.#inFlight--
      if (!isUnanswered) this.link.frame(text)
    })
  }

  #open(id: unknown, data: Json): void {
    const { server } = this
    if (this.isOpen) {
      this.close(closeCodes.openedTwice)
      return
    }
    const user = server.check(data.access_token)
    if (typeof user === 'string') {
      this.link.frame(JSON.stringify({ id, ...failureNamed(user) }))
      const { tokenExpired, invalidToken } = closeCodes
      this.close(user === 'token_expired' ? tokenExpired : invalidToken)
      return
    }
    this.userId = user
    this.guid = data.device_guid || undefined
    this.id = server.nextId()
    if (this.guid !== undefined) {
      this.deviceSn = server.deviceSn(user, this.guid)
      server.closeAll(
        closeCodes.replaced,
        (other) => other !== this && other.userId === user && other.guid === this.guid,
      )
    }
    const { answers, database } = server
    const sync = answers.stateAt(data.pos, user)
    this.isOpen = true
    this.#shownPos = database.rows.length
    const answer = {
      session_id: this.id,
      user_id: user,
      ...(this.guid !== undefined && { device_sn: this.deviceSn }),
      epoch: database.epoch,
      ...(sync === 'current' && { pos: answers.pos(database.rows.length) }),
      server_time: server.now,
      ping_ms: pingMs,
      max_frame: 1_052_672,
      max_in_flight: server.options.maxInFlight,
      transaction_ttl_ms: server.options.transactionTtlMs,
      sync,
    }
    this.link.frame(JSON.stringify({ id, code: 200, message: null, data: answer }))
    this.#beat()
  }

  #beat(): void {
    this.#stopHeartbeat = this.#after(pingMs, () => {
      this.link.frame(this.#isBehind ? '{}' : JSON.stringify({ pos: this.#pos() }))
      this.#beat()
    })
  }

  /** Everything up to it that concerns this connection is written; it may trail. */
  #pos(): string {
    const { rows } = this.server.database
    let mark = rows.length
    for (const lane of this.#lanes.values())
      for (const { position } of lane) mark = Math.min(mark, position - 1)
    for (const position of this.#lost.values()) mark = Math.min(mark, position - 1)
    const least = Math.min(this.#shownPos, mark)
    this.#shownPos = this.#random.chance(0.2) ? this.#random.integer(least, mark) : mark
    return this.server.answers.pos(this.#shownPos)
  }

  /** Takes an event of a commit; it is written later, in the order of its lane. */
  enqueue(event: ModelEvent, position: number): void {
    if (!this.isOpen) return
    if (this.#isBehind) {
      this.#isMissing ||= event.event !== 'message.delta'
      return
    }
    const lane = this.#lanes.get(event.lane) ?? []
    this.#lanes.set(event.lane, lane)
    lane.push({ event, position })
    const delay = this.#random.chance(0.1)
      ? this.#random.integer(0, 900)
      : this.#random.integer(0, 10)
    this.#after(delay, () => this.#writeOne())
  }

  #writeOne(): void {
    const lanes = [...this.#lanes.values()].filter((each) => each.length > 0)
    if (lanes.length === 0) return
    const lane = this.#random.pick(lanes)
    const { event, position } = lane.shift() as Waiting
    if (lane.length === 0) this.#lanes.delete(event.lane)
    const isFollowed = lane[0]?.event.change !== undefined
    // A frame that is lost shows when the next one of its log comes; the position waits for that.
    if (event.change !== undefined && isFollowed && this.#random.chance(0.15)) {
      this.#lost.set(event.lane, Math.min(position, this.#lost.get(event.lane) ?? position))
      return
    }
    if (event.change !== undefined) this.#lost.delete(event.lane)
    const frame = this.#frameOf(event)
    this.link.frame(JSON.stringify(frame))
    if (this.#random.chance(0.05)) this.link.frame(JSON.stringify({ ...frame, pos: undefined }))
  }

  #frameOf(event: ModelEvent): Json {
    const { change, seq = 0 } = event
    const pos = this.#random.chance(0.3) ? { pos: this.#pos() } : {}
    if (change === undefined)
      return { event: event.event, data: event.dataFor(this.userId), ...pos }
    const conversation = event.dataFor(this.userId).conversation
    if (event.skippedFor?.has(this.userId))
      return { event: 'change.skipped', data: { conversation }, change, ...pos }
    const isGone =
      this.#isGone(event) && (event.event !== 'message.stored' || this.#random.chance(0.5))
    if (isGone) {
      const log = this.server.database.logs.get(event.lane) as ModelLog
      const data = { conversation, ...goneAt(log, seq) }
      return { event: 'change.skipped', data, change, ...pos }
    }
    return { event: event.event, data: event.dataFor(this.userId), change, ...pos }
  }

  /** A message that was recalled before an event of it is written. */
  #isGone({ event, lane, seq = 0 }: ModelEvent): boolean {
    const log = this.server.database.logs.get(lane)
    return event !== 'message.recalled' && log !== undefined && log.messages[seq - 1] === undefined
  }

  /** Stops to write events to a reader that is too slow, and tells it after a time. */
  fallBehind(ms: number): void {
    if (!this.isOpen || this.#isBehind) return
    this.#isBehind = true
    this.#isMissing = this.#lanes.size > 0
    this.#lanes.clear()
    this.#lost.clear()
    this.#after(ms, () => {
      this.#isBehind = false
      if (this.#isMissing) this.link.frame(JSON.stringify({ event: 'sync.needed' }))
    })
  }

  close(code: number): void {
    if (this.#isEnded) return
    const retry = code === closeCodes.shutdown ? { retry_after_ms: 300 } : {}
    const data = { code, reason: 'closed', ...retry }
    if (this.isOpen) this.link.frame(JSON.stringify({ event: 'session.closing', data }))
    this.end()
    this.link.close(code, 'closed')
  }

  cut(): void {
    this.end()
    this.link.cut()
  }

  /** The connection is gone. */
  end(): void {
    this.#isEnded = true
    this.isOpen = false
    this.#stopHeartbeat()
    this.#lanes.clear()
    this.server.leave(this)
  }
}

function failureOf(error: unknown): Json {
  const name = (error as Partial<Refusal>).error
  if (name === undefined) throw error
  return failureNamed(name)
}

function failureNamed(name: ErrorName): Json {
  const { code, text, retryable } = errorCatalogue[name]
  return {
    code,
    data: null,
    message: text,
    name,
    retry: retryable,
    ...(name === 'too_many_requests' && { retry_after_ms: 500 }),
  }
}
