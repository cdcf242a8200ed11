/** What the runtime has to know of a gateway to send to it. */
import type { Clock } from '../../../lib/clock.js'
import type {
  CertificateInspection,
  GatewayCertificate,
  MessageClass,
  PushNotification,
  PushOutcome,
  PushTarget,
  Refusal,
  VendorChannel,
} from '../../sender.js'
import type { GatewayToken } from './auth-cache.js'
import type { RequestLimits } from './request-limiter.js'
import type { GatewayAnswer, GatewayRequest, Transport, TransportLimits } from './transport.js'

/** Numbers of one channel; start well below what the vendor publishes. */
export interface ChannelLimits extends RequestLimits, TransportLimits {
  /** What the rate counts. */
  readonly rateUnit: 'request' | 'message'
  readonly targetsPerRequest: number
}

/** One attempt to send to some targets. */
export interface PushBatch<Credentials> {
  readonly credentials: Credentials
  readonly certificate: GatewayCertificate
  readonly notification: PushNotification
  /** No token twice. */
  readonly targets: readonly PushTarget[]
  /** What {@link GatewayProtocol.partOf} says of all of them; "" where it is not there. */
  readonly part: string
  /** "" where the gateway needs none. */
  readonly authToken: string
  /** Milliseconds since 1970. */
  readonly now: number
}

/** @throws TransportError */
export type CallGateway = (request: GatewayRequest) => Promise<GatewayAnswer>

/** How tokens are got; the runtime keeps them. */
export interface AuthScheme<Credentials> {
  issue(context: {
    readonly credentials: Credentials
    readonly certificate: GatewayCertificate
    /** As in {@link PushBatch}: tokens of one part are not shown in another. */
    readonly part: string
    readonly now: number
    /** The token that was refused, when that is why another one is asked for. */
    readonly refused: GatewayToken | null
    readonly call: CallGateway
  }): Promise<GatewayToken | Refusal>
}

/** A gateway: how its credentials read, how it is asked, what its answers mean. */
export interface GatewayProtocol<Credentials> {
  readonly channel: VendorChannel
  readonly limits: ChannelLimits
  /** Null: every request proves itself. */
  readonly auth: AuthScheme<Credentials> | null
  /** @throws CredentialError with what is wrong, for the operator */
  readCredentials(certificate: GatewayCertificate): Credentials
  /** What more can be known of them without asking the gateway; unset: nothing. */
  inspect?(credentials: Credentials): CertificateInspection
  /** The right form of a token that no device has; unset: any text will do. */
  readonly probeToken?: string
  /** Null: the notification may be sent. */
  refuse?(notification: PushNotification, certificate: GatewayCertificate): Refusal | null
  /** What the notification counts as, where quotas tell classes apart. */
  classOf?(notification: PushNotification, certificate: GatewayCertificate): MessageClass | null
  /** One of a few words that has to be the same for all targets of a request. */
  partOf?(target: PushTarget): string
  /** Requests of commands carry the `deduplicationId` too. Unset: the app would be passed a repeated one again. */
  readonly guardsCommands?: true
  /** Unset: HTTP/1.1. */
  openTransport?(credentials: Credentials, options: TransportOptions): Transport
  /**
   * @returns outcomes in the order of the targets
   * @throws TransportError
   */
  send(batch: PushBatch<Credentials>, call: CallGateway): Promise<readonly PushOutcome[]>
}

/** What a transport to the gateway of a certificate is made of. */
export interface TransportOptions {
  readonly certificate: GatewayCertificate
  readonly limits: TransportLimits
  readonly clock: Clock
}

/** For channels that say nothing else. */
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

/** What may be sent at once after a pause where the operator has set the rate: little, as vendors count each second by itself. */
const burstSeconds = 0.1
/** A request of more messages would never go while the rate is slowed down: it waits a second at the most. */
const longestRequestSeconds = 0.15

/** The numbers of a channel, and those that the certificate sets in their place. */
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

/** Sends to all targets with one request. */
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

/** Sends to each target with a request of its own. */
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

/** The origin of sends: the certificate's own, else the vendor's. */
export function sendUrl({ endpoint }: GatewayCertificate, vendorUrl: string): string {
  return endpoint?.sendUrl ?? vendorUrl
}
