import type { ClientOptions } from '../api.js'
import type { ClientPorts } from '../ports/client-ports.js'
import { Core } from '../core/core.js'
import type { Effect } from '../core/effects.js'
import type { Command, InputBody } from '../core/inputs.js'
import { type Failure, ClientError, failureOf } from '../errors.js'
import { reporterOf } from '../lib/reporter.js'
import { platforms } from '../model/words.js'
import { StoreError, type StoreFailure } from '../ports/store.js'
import type { Connection, ConnectionListener, UploadAnswer } from '../ports/transport.js'
import { gatewayUrl } from './gateway-url.js'
import type {
  CommandOutcome,
  Leader,
  LeaderListener,
  LeaderOptions,
  StartLeader,
} from './leader.js'
import { sdk, userAgent } from './sdk.js'
import { uploadAddress } from './upload-address.js'

/** An answer of the store that took longer proves nothing: the page may have been frozen after it. */
const maxCheckMs = 2_000

/** The ports that the runtime uses. */
export type LeaderPorts = Pick<
  ClientPorts,
  'clock' | 'connect' | 'canConnect' | 'upload' | 'wakeups' | 'platform'
>

/** Returns the start of leaders for a client. */
export function leaderStarter(options: ClientOptions, ports: LeaderPorts): StartLeader {
  return (leaderOptions) => new LeaderRuntime(options, ports, leaderOptions)
}

type EffectOf<Type extends Effect['type']> = Extract<Effect, { readonly type: Type }>

/** Runs a core: gives it inputs one after the other, and its effects to the ports. */
class LeaderRuntime implements Leader {
  readonly #options: ClientOptions
  readonly #report: (error: unknown) => void
  readonly #ports: LeaderPorts
  readonly #leader: LeaderOptions
  readonly #listener: LeaderListener
  readonly #core: Core
  readonly #inputs: InputBody[] = []
  #isStepping = false
  #isStopped = false
  #connection: Connection | undefined
  #token: AbortController | undefined
  readonly #timers = new Map<string, () => void>()
  readonly #uploads = new Map<number, AbortController>()
  /** IDs of the commands that have no outcome yet. */
  readonly #commands = new Set<string>()
  readonly #endWakeups: () => void

  constructor(options: ClientOptions, ports: LeaderPorts, leader: LeaderOptions) {
    this.#options = options
    this.#report = reporterOf(options)
    this.#ports = ports
    this.#leader = leader
    this.#listener = leader.listener
    this.#core = new Core({
      appId: options.appId,
      userId: options.userId ?? 0,
      deviceGuid: leader.deviceGuid ?? null,
      ...(leader.token !== undefined && { token: leader.token }),
      platform: platforms.indexOf(options.platform ?? ports.platform),
      userAgent: userAgent(),
      sdk,
      random: () => ports.clock.random(),
      isDurable: leader.isDurable ?? true,
    })
    this.#endWakeups = ports.wakeups.listen(() => this.#input({ type: 'wakeup' }))
    this.#input({ type: 'start', state: leader.state })
  }

  connect(): void {
    this.#input({ type: 'connect' })
  }

  disconnect(): void {
    this.#input({ type: 'disconnect' })
  }

  wakeup(): void {
    this.#input({ type: 'wakeup' })
  }

  execute(id: string, command: Command): void {
    if (this.#commands.has(id)) return
    this.#commands.add(id)
    this.#input({ type: 'command', id, command })
  }

  cancel(id: string): void {
    if (this.#commands.delete(id)) this.#input({ type: 'cancel', id })
  }

  stop(): void {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#endWakeups()
    this.#connection?.abandon(1000)
    this.#token?.abort()
    for (const cancel of this.#timers.values()) cancel()
    for (const upload of this.#uploads.values()) upload.abort()
    this.#timers.clear()
    this.#uploads.clear()
  }

  /** Takes an input. One that comes while effects run is taken after them. */
  #input(input: InputBody): void {
    if (this.#isStopped) return
    this.#inputs.push(input)
    if (this.#isStepping) return
    this.#isStepping = true
    try {
      for (let next = this.#inputs.shift(); next; next = this.#inputs.shift()) this.#step(next)
    } finally {
      this.#isStepping = false
    }
  }

  #step(input: InputBody): void {
    const now = this.#ports.clock.now()
    for (const effect of this.#core.step({ now, ...input })) {
      if (this.#isStopped) return
      this.#run(effect)
    }
  }

  #run(effect: Effect): void {
    switch (effect.type) {
      case 'apply':
        void this.#apply(effect)
        break
      case 'connect':
        this.#connect(effect.connection)
        break
      case 'send':
        this.#connection?.send(effect.text)
        break
      case 'abandon':
        this.#connection?.abandon(effect.code)
        this.#connection = undefined
        break
      case 'token':
        void this.#requestToken(effect.isRefused)
        break
      case 'cancelToken':
        this.#token?.abort()
        break
      case 'timer':
        this.#setTimer(effect)
        break
      case 'cancelTimer':
        this.#timers.get(effect.key)?.()
        this.#timers.delete(effect.key)
        break
      case 'readMessages':
        void this.#read(effect)
        break
      case 'upload':
        void this.#upload(effect)
        break
      case 'cancelUpload':
        this.#uploads.get(effect.transactionId)?.abort()
        this.#uploads.delete(effect.transactionId)
        break
      case 'result':
      case 'failure': {
        const { id, ...outcome } = effect
        this.#done(id, outcome)
        break
      }
      case 'live':
        this.#notify(() => this.#listener.live(effect.live))
        break
      case 'event':
        this.#notify(() => this.#listener.event(effect.event))
        break
      case 'error':
        this.#report(effect.error)
    }
  }

  async #apply({ batch }: EffectOf<'apply'>): Promise<void> {
    try {
      await this.#leader.store.apply(batch, this.#leader.generation)
    } catch (error) {
      this.#storeFailed(error)
      return
    }
    if (this.#isStopped) return
    this.#notify(() => this.#listener.committed(batch))
    this.#input({ type: 'applied' })
  }

  async #read({ request, query }: EffectOf<'readMessages'>): Promise<void> {
    try {
      const messages = await this.#leader.store.messages(query)
      this.#input({ type: 'messages', request, messages })
    } catch (error) {
      this.#storeFailed(error)
    }
  }

  #storeFailed(error: unknown): void {
    if (this.#isStopped) return
    const failure: StoreFailure = error instanceof StoreError ? error.failure : 'unavailable'
    if (!(error instanceof StoreError)) this.#report(error)
    this.#input({ type: 'storeFailed', failure })
    this.stop()
    this.#notify(() => this.#listener.failed(failure))
  }

  #connect(connection: number): void {
    this.#connection?.abandon()
    const { clock } = this.#ports
    const listener: ConnectionListener = {
      open: () => {
        const since = clock.now()
        void this.#asLeader(() => {
          if (clock.now() - since < maxCheckMs) this.#input({ type: 'opened', connection })
          else listener.end({ code: 1006, reason: 'the page was asleep' })
        })
      },
      frame: (text) => this.#input({ type: 'frame', connection, text }),
      end: ({ code, reason }) => {
        void this.#asLeader(() => this.#input({ type: 'ended', connection, code, reason }))
      },
    }
    try {
      this.#connection = this.#ports.connect(gatewayUrl(this.#options.url), listener)
    } catch (error) {
      // A constructor that throws, or is missing as in Node 20, always will.
      const message = `no WebSocket can be opened: ${errorText(error)}`
      const failure = failureOf('no_web_socket', message)
      this.#connection = undefined
      this.#input({ type: 'impossible', connection, failure })
    }
  }

  /**
   * Does what only the tab that leads may do. A tab that was frozen while another one took over stops
   * here: its session would displace that of the other, or has been displaced by it.
   */
  async #asLeader(run: () => void): Promise<void> {
    try {
      await this.#leader.store.check(this.#leader.generation)
    } catch (error) {
      this.#storeFailed(error)
      return
    }
    run()
  }

  /** Asks the app for a token. A token that comes after an abort is ignored. */
  async #requestToken(isRefused: boolean): Promise<void> {
    if (this.#ports.canConnect?.() === false) {
      const message = 'there is no WebSocket here; in Node import @hermod/client/node'
      this.#input({ type: 'tokenFailed', failure: failureOf('no_web_socket', message) })
      return
    }
    this.#token?.abort()
    const controller = new AbortController()
    const { signal } = controller
    this.#token = controller
    const deviceGuid = this.#leader.deviceGuid ?? null
    let input: InputBody
    try {
      const token = await this.#options.token({ isRefused, deviceGuid, signal })
      input = { type: 'token', token }
    } catch (error) {
      input = { type: 'tokenFailed', failure: tokenFailure(error) }
    }
    if (!signal.aborted) this.#input(input)
  }

  #setTimer({ key, ms }: EffectOf<'timer'>): void {
    this.#timers.get(key)?.()
    const cancel = this.#ports.clock.after(ms, () => {
      this.#timers.delete(key)
      this.#input({ type: 'timer', key })
    })
    this.#timers.set(key, cancel)
  }

  async #upload(effect: EffectOf<'upload'>): Promise<void> {
    const { type: _, transactionId, url, ...request } = effect
    this.#uploads.get(transactionId)?.abort()
    const controller = new AbortController()
    const { signal } = controller
    this.#uploads.set(transactionId, controller)
    const progress = (sentBytes: number) => {
      if (!signal.aborted) this.#input({ type: 'uploadProgress', transactionId, sentBytes })
    }
    let answer: UploadAnswer | undefined
    try {
      const address = uploadAddress(url, this.#options.url)
      const upload = { ...request, url: address, onProgress: progress, signal }
      answer = await this.#ports.upload(upload)
    } catch {
      // No answer: the core tries again.
    }
    if (signal.aborted) return
    this.#uploads.delete(transactionId)
    this.#input({ type: 'uploaded', transactionId, ...(answer && { answer }) })
  }

  #done(id: string, outcome: CommandOutcome): void {
    if (this.#commands.delete(id)) this.#notify(() => this.#listener.done(id, outcome))
  }

  /** A listener that throws ends nothing. */
  #notify(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.#report(error)
    }
  }
}

/** Returns why the token function has failed, as a failure that can be posted to other tabs. */
function tokenFailure(error: unknown): Failure {
  if (!(error instanceof ClientError)) return failureOf('token_failed', errorText(error), true)
  const { code, name, message, retry, retryAfterMs } = error
  return { code, name, message, retry, ...(retryAfterMs !== undefined && { retryAfterMs }) }
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
