/** A device of a user: it connects, opens its session, syncs, and does so again after a loss. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type RawAnswer, RawSocket } from './raw-socket.js'

/** The login of a device. */
export interface DeviceLogin {
  readonly userId: number
  readonly token: string
  readonly deviceGuid: string
  /** Port of its node; absent: that of the swarm. */
  readonly port?: number
}

/** The swarm as its devices see it. */
export interface DeviceHost {
  readonly appId: string
  readonly port: number
  /** A message has arrived. */
  received(payload: Buffer): void
  /** A change of fields of a message has arrived. */
  updated(payload: Buffer, device: Device): void
  /** Text of a message that is being written has arrived. */
  appended(payload: Buffer): void
}

/** The figures of a connection or a sync. */
export interface Effort {
  calls: number
  bytes: number
}

/** The parts of a head that tell whether changes are missing. */
interface SyncedHead {
  readonly log: object
  readonly change: number
  readonly from?: number
  readonly changes: readonly unknown[]
}

const fillsAtOnce = 8
const storedEvent = Buffer.from('{"event":"message.stored"')
const updatedEvent = Buffer.from('{"event":"message.updated"')
const deltaEvent = Buffer.from('{"event":"message.delta"')
const skippedEvent = Buffer.from('{"event":"sync.needed"')
const closingEvent = Buffer.from('{"event":"session.closing"')
const posName = Buffer.from('"pos":"')
const retryMs = 200
const linux = 5

/** A connected device that follows its events by sync. */
export class Device {
  socket: RawSocket | null = null
  pos = ''
  /** The session is open and nothing is missing. */
  isCurrent = false
  isStopped = false
  /** Messages of a log that a sync answers. */
  window = 0
  /**
   * The change number of its logs before it went away; null = it asks for no changes that a sync
   * leaves out.
   */
  known: number | null = null
  /** null: that of the swarm. */
  port: number | null
  #retryAt = 0
  #needsSync = false

  constructor(
    readonly login: DeviceLogin,
    private readonly host: DeviceHost,
  ) {
    this.port = login.port ?? null
  }

  /** Connects until it is in sync. @returns the calls that it took */
  async open(effort: Effort = { calls: 0, bytes: 0 }): Promise<Effort> {
    for (;;) {
      const waitMs = this.#retryAt - performance.now()
      if (waitMs > 0) await sleep(waitMs)
      try {
        await this.#open(effort)
        return effort
      } catch (error) {
        if (this.isStopped) throw error
        this.#retryAt = Math.max(this.#retryAt, performance.now() + retryMs * (0.5 + Math.random()))
      }
    }
  }

  /** Connects to a bare server, which knows no sessions, and exchanges a frame with it. */
  async openBare(): Promise<void> {
    this.socket = this.#connect()
    await this.socket.connected()
    await this.socket.call('exchange', {})
    this.isCurrent = true
  }

  cut(): void {
    this.socket?.cut()
  }

  async #open(effort: Effort): Promise<void> {
    const socket = this.#connect()
    this.socket = socket
    await socket.connected()
    const { userId: _, token: access_token, deviceGuid: device_guid } = this.login
    const { data } = expectSuccess(
      await this.#call(socket, effort, 'session.open', {
        app_id: this.host.appId,
        access_token,
        device_guid,
        platform: linux,
        user_agent: 'bench',
        features: ['message.updated', 'streams'],
        ...(this.pos !== '' && { pos: this.pos }),
      }),
    )
    if (data.sync === 'current') this.pos = data.pos
    else await this.sync(effort)
    this.isCurrent = true
  }

  /** Asks for what it has missed, page by page. */
  async sync(effort: Effort): Promise<void> {
    const { socket, window } = this
    if (!socket) throw new Error('not connected')
    do {
      this.#needsSync = false
      for (let more = true; more; ) {
        const body = { after: this.pos, limit: 200, window }
        const { data } = expectSuccess(await this.#call(socket, effort, 'message.sync', body))
        this.pos = data.pos
        more = data.more === true
        if (this.known !== null) await this.#fill(socket, effort, data.heads, this.known)
      }
    } while (this.#needsSync)
  }

  /** Asks for the changes that did not fit into a page. */
  async #fill(
    socket: RawSocket,
    effort: Effort,
    heads: readonly SyncedHead[],
    known: number,
  ): Promise<void> {
    const behind = heads
      .map(({ log, change, from, changes }) => ({
        log,
        change,
        local: from === undefined ? known : from + changes.length,
      }))
      .filter(({ change, local }) => local < change)
      .values()
    const fill = async () => {
      for (const { log, change, local } of behind)
        for (let after = local; after < change; ) {
          const body = { log, after_change: after, limit: 100 }
          const { data } = expectSuccess(await this.#call(socket, effort, 'message.changes', body))
          after = data.next
        }
    }
    await Promise.all(Array.from({ length: fillsAtOnce }, fill))
  }

  async #call(socket: RawSocket, effort: Effort, op: string, data: object): Promise<RawAnswer> {
    effort.calls++
    const answer = await socket.call(op, data)
    effort.bytes += JSON.stringify(answer.data).length
    return answer
  }

  #connect(): RawSocket {
    this.isCurrent = false
    return new RawSocket(this.port ?? this.host.port, {
      frame: (payload) => this.#frame(payload),
      ended: () => {
        this.isCurrent = false
      },
    })
  }

  #frame(payload: Buffer): void {
    if (beginsWith(payload, storedEvent)) this.host.received(payload)
    else if (beginsWith(payload, updatedEvent)) this.host.updated(payload, this)
    else if (beginsWith(payload, deltaEvent)) this.host.appended(payload)
    else if (beginsWith(payload, skippedEvent)) this.#needsSync = true
    else if (beginsWith(payload, closingEvent))
      this.#retryAt =
        performance.now() + (JSON.parse(payload.toString()).data.retry_after_ms ?? retryMs)
    else if (this.isCurrent && payload.length < 200) {
      const at = payload.indexOf(posName)
      if (at >= 0) this.pos = JSON.parse(payload.toString()).pos
    }
  }
}

/** Returns the answer. @throws Error for a failure */
export function expectSuccess(answer: RawAnswer): RawAnswer {
  if (answer.code !== 200) throw new Error(`code ${answer.code}: ${answer.message}`)
  return answer
}

function beginsWith(payload: Buffer, text: Buffer): boolean {
  return (
    payload.length >= text.length && payload.compare(text, 0, text.length, 0, text.length) === 0
  )
}
