import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../lib/clock.js'
import type { GatewayCertificate } from '../../certificate.js'
import type { PushNotification } from '../../notification.js'
import type { PushOutcome, QuotaUsedUp, Refusal } from '../../outcomes.js'
import { withoutTokens } from '../content/answers.js'
import { ContentNotes } from '../content/content-notes.js'
import { AuthCache, isIssued } from './auth-cache.js'
import { CircuitBreaker, type CircuitLimits, type OpenCircuit } from './circuit.js'
import { CredentialError } from './credentials.js'
import { Http1Transport } from './http1-transport.js'
import {
  type ChannelLimits,
  certificateLimits,
  type GatewayProtocol,
  type PushBatch,
} from './protocol.js'
import { type LimiterRefusal, RequestLimiter } from './request-limiter.js'
import { type GatewayRequest, type Transport, TransportError } from './transport.js'

const maxClients = 500

/** The targets of one request, with the notification. */
export type Sending = Pick<PushBatch<unknown>, 'certificate' | 'notification' | 'targets' | 'part'>

interface CertificateClientOptions {
  readonly clock: Clock
  readonly circuit: CircuitLimits
  /** Limits of the channel. */
  readonly limits: ChannelLimits
}

/**
 * The clients of one channel, keyed by the contents of their certificates. The least recently used
 * one closes first.
 */
export class CertificateClients<Credentials> {
  readonly #closing = new Set<Promise<void>>()
  readonly #clients = new LRUCache<string, CertificateClient<Credentials>>({
    max: maxClients,
    dispose: (client) => this.#close(client),
  })

  constructor(
    private readonly protocol: GatewayProtocol<Credentials>,
    private readonly options: CertificateClientOptions,
  ) {}

  /** @returns a refusal when the certificate is invalid */
  open(certificate: GatewayCertificate): CertificateClient<Credentials> | Refusal {
    // The receipt address differs per certificate, but vendors count by credentials, so it is not
    // part of the key.
    const { receiptUrl: _, receiptId: __, ...shared } = certificate
    const key = createHash('sha256').update(JSON.stringify(shared)).digest('base64')
    const known = this.#clients.get(key)
    if (known) return known
    const client = this.openUnshared(certificate)
    if (!('kind' in client)) this.#clients.set(key, client)
    return client
  }

  /**
   * Opens a client that is not shared; the caller closes it.
   * @returns as {@link open}
   */
  openUnshared(certificate: GatewayCertificate): CertificateClient<Credentials> | Refusal {
    try {
      return new CertificateClient(this.protocol, certificate, this.options)
    } catch (error) {
      if (!(error instanceof CredentialError)) throw error
      return { kind: 'config', code: 'bad_certificate', reason: error.message }
    }
  }

  /** Number of clients with an open circuit. */
  get openCircuits(): number {
    return [...this.#clients.values()].filter(({ isCircuitOpen }) => isCircuitOpen).length
  }

  async close(): Promise<void> {
    this.#clients.clear()
    await Promise.all(this.#closing)
  }

  #close(client: CertificateClient<Credentials>): void {
    const closing = client.close().finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }
}

/** Sends with one certificate: holds its connections, token, rate limit and circuit breaker. */
export class CertificateClient<Credentials> {
  readonly limits: ChannelLimits
  readonly #credentials: Credentials
  readonly #transport: Transport
  readonly #limiter: RequestLimiter
  readonly #circuit: CircuitBreaker
  /** Tokens by part; null when every request carries its own proof. */
  readonly #auth: Map<string, AuthCache> | null
  /**
   * End of the period in which the gateway refuses lists and accepts one device per request,
   * milliseconds since 1970.
   */
  #singleUntil = 0

  /** @throws CredentialError */
  constructor(
    private readonly protocol: GatewayProtocol<Credentials>,
    private readonly certificate: GatewayCertificate,
    private readonly options: CertificateClientOptions,
  ) {
    const { clock, circuit } = options
    const limits = certificateLimits(options.limits, certificate)
    this.limits = limits
    this.#credentials = protocol.readCredentials(certificate)
    this.#transport =
      protocol.openTransport?.(this.#credentials, { certificate, limits, clock }) ??
      new Http1Transport({
        limits,
        connections: limits.maxInFlight,
        clock,
        ca: certificate.endpoint?.ca,
      })
    this.#limiter = new RequestLimiter(limits, clock)
    this.#circuit = new CircuitBreaker(circuit, clock)
    this.#auth = protocol.auth && new Map()
  }

  /** @returns outcomes in the order of the targets */
  async send(sending: Sending): Promise<readonly PushOutcome[]> {
    if (sending.targets.length === 1) return this.#sendRequest(sending)
    if (this.#singleUntil > this.options.clock.now()) return this.#sendSingly(sending)
    const outcomes = await this.#sendRequest(sending)
    if (isAboutSomeDevice(outcomes)) return this.#sendSingly(sending)
    const listsEnded = outcomes.find(isListQuota)
    if (!listsEnded) return outcomes
    this.#singleUntil = listsEnded.endsAt
    return this.#sendSingly(sending)
  }

  async #sendSingly(sending: Sending): Promise<readonly PushOutcome[]> {
    const { targets } = sending
    const outcomes = await Promise.all(
      targets.map((target) => this.#sendRequest({ ...sending, targets: [target] })),
    )
    return outcomes.flat()
  }

  async #sendRequest(sending: Sending): Promise<readonly PushOutcome[]> {
    const { targets } = sending
    const open = this.#circuit.openState()
    if (open) return targets.map(() => openCircuitRefusal(open))
    const cost = this.limits.rateUnit === 'message' ? targets.length : 1
    const outcomes = await this.#limiter.run(cost, () => this.#sendThroughCircuit(sending))
    if ('code' in outcomes) return targets.map(() => localRefusal(outcomes))
    if (outcomes.some(({ kind }) => kind === 'throttled')) this.#limiter.slowDown()
    return outcomes
  }

  get isCircuitOpen(): boolean {
    return this.#circuit.openState() !== null
  }

  close(): Promise<void> {
    return this.#transport.close()
  }

  async #sendThroughCircuit(sending: Sending): Promise<readonly PushOutcome[]> {
    const state = this.#circuit.enter()
    if (state.kind === 'open') return sending.targets.map(() => openCircuitRefusal(state))
    let outcomes: readonly PushOutcome[] = []
    try {
      outcomes = await this.#sendAuthenticated(sending)
    } finally {
      const tokens = sending.targets.map(({ token }) => token)
      this.#circuit.leave(state, outcomes, tokens)
    }
    return outcomes.map((outcome) => this.#untilMended(outcome))
  }

  /** Gives the outcome that opened the circuit the same delay as those that follow. */
  #untilMended(outcome: PushOutcome): PushOutcome {
    if (outcome.kind !== 'config' || outcome.isOfPush) return outcome
    const open = this.#circuit.openState()
    return open ? { ...outcome, retryAfterMs: open.retryAfterMs } : outcome
  }

  /** Retries once with another token when the gateway rejects the first. */
  async #sendAuthenticated(sending: Sending): Promise<readonly PushOutcome[]> {
    const outcomes = await this.#attempt(sending)
    const refused = sending.targets.filter((_, index) => outcomes[index]?.kind === 'auth_expired')
    if (refused.length === 0) return outcomes
    const again = this.#auth ? await this.#attempt({ ...sending, targets: refused }) : []
    const second = new Map(refused.map(({ token }, index) => [token, again[index]]))
    return outcomes.map((outcome, index) =>
      finalOutcome(second.get(sending.targets[index]?.token ?? '') ?? outcome),
    )
  }

  async #attempt(sending: Sending): Promise<readonly PushOutcome[]> {
    const auth = this.#authOf(sending.part)
    const token = auth && (await auth.get())
    if (token && !isIssued(token)) return sending.targets.map(() => ofCredentials(token))
    const batch = {
      ...sending,
      credentials: this.#credentials,
      authToken: token?.value ?? '',
      now: this.options.clock.now(),
      notes: notesOf(sending.notification),
    }
    const result = await guarded(() => this.protocol.send(batch, this.#call))
    const outcomes =
      'kind' in result ? sending.targets.map(() => this.#unanswered(result, sending)) : result
    if (token && outcomes.some(({ kind }) => kind === 'auth_expired')) auth?.drop(token)
    return withoutTokens(withChanges(outcomes, batch.notes.changes), sending.targets)
  }

  /** Marks a command as unrepeatable if the app could not recognise its repetition. */
  #unanswered(refusal: Refusal, { notification }: Sending): Refusal {
    const isUnguarded = notification.kind === 'cmd' && !this.protocol.guardsCommands
    if (!isUnguarded || refusal.kind !== 'network' || !refusal.mayBeDelivered) return refusal
    const reason = `${refusal.reason}; it may have arrived, and a second one would be another command to the app`
    return { ...refusal, reason, isUnrepeatable: true }
  }

  #authOf(part: string): AuthCache | null {
    const { auth } = this.protocol
    if (auth === null || this.#auth === null) return null
    const known = this.#auth.get(part)
    if (known) return known
    const { clock } = this.options
    const context = {
      credentials: this.#credentials,
      certificate: this.certificate,
      part,
      call: this.#call,
    }
    const cache = new AuthCache(
      (refused) => guarded(() => auth.issue({ ...context, refused, now: clock.now() })),
      clock,
    )
    this.#auth.set(part, cache)
    return cache
  }

  readonly #call = (request: GatewayRequest) => this.#transport.request(request)
}

/** The member `hermod` of the message takes the place of one in `ext`. */
function notesOf({ ext }: PushNotification): ContentNotes {
  const notes = new ContentNotes()
  if (Object.hasOwn(ext ?? {}, 'hermod')) notes.leftOut('hermod')
  return notes
}

function withChanges(
  outcomes: readonly PushOutcome[],
  changes: readonly string[],
): readonly PushOutcome[] {
  if (changes.length === 0) return outcomes
  return outcomes.map((outcome) =>
    outcome.kind === 'accepted' ? { ...outcome, changes } : outcome,
  )
}

/** Converts a transport error to an outcome. */
async function guarded<T>(work: () => Promise<T>): Promise<T | Refusal> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof TransportError)) throw error
    const { code, message, mayBeDelivered } = error
    return { kind: 'network', code, reason: message, mayBeDelivered }
  }
}

/** Credentials that are rejected twice are wrong, not expired. */
function finalOutcome(outcome: PushOutcome): PushOutcome {
  return outcome.kind === 'auth_expired'
    ? { ...outcome, kind: 'config', isOfCredentials: true }
    : outcome
}

function ofCredentials(refusal: Refusal): Refusal {
  return refusal.kind === 'config' ? { ...refusal, isOfCredentials: true } : refusal
}

/**
 * Tests whether the refusal of a whole list may concern one of its devices. Then devices get one
 * request each, so that the token of one user costs no other user a push or a token.
 */
function isAboutSomeDevice(outcomes: readonly PushOutcome[]): boolean {
  const [first] = outcomes
  if (first === undefined || outcomes.some((outcome) => outcome !== first)) return false
  if (first.kind === 'invalid_token') return !first.isSuspect
  return (
    first.kind === 'config' &&
    !first.isOfPush &&
    !first.isOfCredentials &&
    first.retryAfterMs === undefined
  )
}

function openCircuitRefusal({ reason, retryAfterMs }: OpenCircuit): Refusal {
  const text = `nothing is sent for now: ${reason}`
  return { kind: 'held_back', code: 'circuit_open', reason: text, retryAfterMs }
}

function localRefusal({ code, retryAfterMs }: LimiterRefusal): Refusal {
  const reason = {
    queue_full: 'too many requests wait for this gateway',
    rate_exceeded: 'the rate of this gateway is used up',
  }[code]
  return { kind: 'held_back', code, reason, retryAfterMs, hasTurn: code === 'rate_exceeded' }
}

function isListQuota(outcome: PushOutcome): outcome is QuotaUsedUp {
  return outcome.kind === 'quota' && outcome.scope === 'list'
}
