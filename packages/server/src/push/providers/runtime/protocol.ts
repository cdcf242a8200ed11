/** Description of a gateway that the runtime needs to send to it. */
import type { Clock } from '../../../lib/clock.js'
import type { CertificateInspection, GatewayCertificate, VendorChannel } from '../../certificate.js'
import type { PushNotification } from '../../notification.js'
import type { MessageClass, PushOutcome, Refusal } from '../../outcomes.js'
import type { PushTarget } from '../../port.js'
import type { ContentNotes } from '../content/content-notes.js'
import type { GatewayToken } from './auth-cache.js'
import type { RequestLimits } from './request-limiter.js'
import type { GatewayAnswer, GatewayRequest, Transport, TransportLimits } from './transport.js'

/** Limits of one channel, well below the values that the vendor publishes. */
export interface ChannelLimits extends RequestLimits, TransportLimits {
  /** Unit of the rate. */
  readonly rateUnit: 'request' | 'message'
  readonly targetsPerRequest: number
}

/** One attempt to send a notification to some targets. */
export interface PushBatch<Credentials> {
  readonly credentials: Credentials
  readonly certificate: GatewayCertificate
  readonly notification: PushNotification
  /** Without repeated tokens. */
  readonly targets: readonly PushTarget[]
  /** The common result of {@link GatewayProtocol.partOf}; "" without that method. */
  readonly part: string
  /** "" when the gateway needs no token. */
  readonly authToken: string
  /** Milliseconds since 1970. */
  readonly now: number
  /** Takes the changes that the channel makes to the content. */
  readonly notes: ContentNotes
}

/** @throws TransportError */
export type CallGateway = (request: GatewayRequest) => Promise<GatewayAnswer>

/** Obtains tokens; the runtime caches them. */
export interface AuthScheme<Credentials> {
  issue(context: {
    readonly credentials: Credentials
    readonly certificate: GatewayCertificate
    /** Part, see {@link PushBatch}; a token of one part is not valid for another. */
    readonly part: string
    readonly now: number
    /** The rejected token that this request replaces, if any. */
    readonly refused: GatewayToken | null
    readonly call: CallGateway
  }): Promise<GatewayToken | Refusal>
}

/** A gateway: its credentials, requests and answers. */
export interface GatewayProtocol<Credentials> {
  readonly channel: VendorChannel
  readonly limits: ChannelLimits
  /** Null: every request carries its own proof. */
  readonly auth: AuthScheme<Credentials> | null
  /** @throws CredentialError with the faults, for the operator */
  readCredentials(certificate: GatewayCertificate): Credentials
  /** Further facts about the credentials that need no request; omit for none. */
  inspect?(credentials: Credentials): CertificateInspection
  /** A well-formed token that no device has; omit if any text will do. */
  readonly probeToken?: string
  /** Returns null when the notification may be sent. */
  refuse?(notification: PushNotification, certificate: GatewayCertificate): Refusal | null
  /** Class of the notification, where quotas distinguish classes. */
  classOf?(notification: PushNotification, certificate: GatewayCertificate): MessageClass | null
  /** Returns a word that all targets of one request must share. */
  partOf?(target: PushTarget): string
  /**
   * Requests of commands carry the `deduplicationId`. Omit if the app would receive a repeated
   * command twice.
   */
  readonly guardsCommands?: true
  /** Defaults to HTTP/1.1. */
  openTransport?(credentials: Credentials, options: TransportOptions): Transport
  /**
   * @returns outcomes in the order of the targets
   * @throws TransportError
   */
  send(batch: PushBatch<Credentials>, call: CallGateway): Promise<readonly PushOutcome[]>
}

/** Options of the transport to the gateway of a certificate. */
export interface TransportOptions {
  readonly certificate: GatewayCertificate
  readonly limits: TransportLimits
  readonly clock: Clock
}

/** Limits of channels that set none. */
export const defaultLimits: ChannelLimits = {
  targetsPerRequest: 1,
  rateUnit: 'request',
  perSecond: 1_000,
  burst: 1_000,
  maxInFlight: 20,
  maxQueued: 5_000,
  maxWaitMs: 1_000,
  connectTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
}

/**
 * Burst after a pause when the operator has set the rate. It is small because vendors count each
 * second separately.
 */
const burstSeconds = 0.1
/**
 * A larger request would never be sent while the rate is slowed down, since it waits at most a
 * second.
 */
const longestRequestSeconds = 0.15

/** Limits of a channel with the overrides of the certificate. */
export function certificateLimits(
  limits: ChannelLimits,
  { limits: own = {} }: Pick<GatewayCertificate, 'limits'>,
): ChannelLimits {
  const { perSecond, maxInFlight = limits.maxInFlight } = own
  if (perSecond === undefined) return { ...limits, maxInFlight }
  const most = limits.rateUnit === 'message' ? perSecond * longestRequestSeconds : Infinity
  return {
    ...limits,
    maxInFlight,
    perSecond,
    burst: Math.max(1, Math.min(limits.burst, perSecond * burstSeconds)),
    targetsPerRequest: Math.max(1, Math.floor(Math.min(limits.targetsPerRequest, most))),
  }
}

type SendBatch<Credentials> = GatewayProtocol<Credentials>['send']

/** Sends one request for all targets. */
export function sendTogether<Credentials>(
  build: (batch: PushBatch<Credentials>) => GatewayRequest | Refusal,
  read: (answer: GatewayAnswer, batch: PushBatch<Credentials>) => readonly PushOutcome[],
): SendBatch<Credentials> {
  return async (batch, call) => {
    const request = build(batch)
    if ('kind' in request) return batch.targets.map(() => request)
    return read(await call(request), batch)
  }
}

/** Sends one request per target. */
export function sendOneByOne<Credentials>(
  build: (batch: PushBatch<Credentials>, target: PushTarget) => GatewayRequest | Refusal,
  read: (answer: GatewayAnswer) => PushOutcome,
): SendBatch<Credentials> {
  return (batch, call) =>
    Promise.all(
      batch.targets.map(async (target) => {
        const request = build(batch, target)
        return 'kind' in request ? request : read(await call(request))
      }),
    )
}

/** Returns the origin of sends: the certificate's, else the vendor's. */
export function sendUrl({ endpoint }: GatewayCertificate, vendorUrl: string): string {
  return endpoint?.sendUrl ?? vendorUrl
}
