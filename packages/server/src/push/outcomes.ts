/** Outcomes of a push, one for each device, and the quotas of vendors. */

/** The result for one device. */
export type PushOutcome = Accepted | Refusal

/** The gateway accepted the message; only a receipt tells whether the device received it. */
export interface Accepted {
  readonly kind: 'accepted'
  /** The gateway's ID of the message, which receipts name. */
  readonly messageId: string
  /** Changes that the channel made to the content, a phrase each; omitted for none. */
  readonly changes?: readonly string[]
  readonly alarm?: ReceiptsRefused
}

/** The gateway refused the address for receipts, so the message went without it. */
export interface ReceiptsRefused {
  readonly kind: 'receipts_refused'
  /** The gateway's own code. */
  readonly code: string
}

/** Reason why a message was not accepted for a device. */
export type Refusal =
  | InvalidToken
  | Delayed
  | HeldBack
  | NetworkFailure
  | QuotaUsedUp
  | SetUpRefused
  /**
   * `auth_expired`: returned only inside the runtime; with fresh credentials it becomes `config`.
   * `payload`: the gateway will never accept this message. `suppressed`: the device is out of reach
   * for now; its token is valid.
   */
  | (GatewayReason & { readonly kind: 'auth_expired' | 'payload' | 'suppressed' })

/** Credentials or set-up are wrong. */
export interface SetUpRefused extends GatewayReason {
  readonly kind: 'config'
  /** Concerns this push only: the gateway may accept other devices and other messages. */
  readonly isOfPush?: true
  /** Concerns the credentials or the account, so that no device can be reached. */
  readonly isOfCredentials?: true
  /**
   * Time until the next try, in case the operator has repaired the set-up; omitted: this push has
   * ended.
   */
  readonly retryAfterMs?: number
}

/** The kinds of outcomes, as counted in metrics. */
export type PushOutcomeKind = PushOutcome['kind']

/** Reason why a push was not accepted, for the log and the trace. */
export interface GatewayReason {
  /** The gateway's own code, or one of ours such as `circuit_open`. */
  readonly code: string
  /** Human-readable; contains no token and no secret. */
  readonly reason: string
  /** Alarm for operators that kind and code do not imply. */
  readonly alarm?: OutcomeAlarm
}

/** Condition that needs an operator's attention. */
export type OutcomeAlarm =
  /**
   * The gateway finds our time wrong. `skewSeconds`: how far our clock is ahead, if the gateway
   * states its own time.
   */
  | { readonly kind: 'clock'; readonly skewSeconds: number | null }
  /** Tokens that the gateway reports as ended are kept. */
  | { readonly kind: 'mass_prune' }
  /** The message needs a template, or another one. */
  | { readonly kind: 'template' }
  | ReceiptsRefused
  /** The code has no entry in the table. */
  | { readonly kind: 'unknown_code' }

/** The gateway knows no device by this token, or none that this app may reach. */
export interface InvalidToken extends GatewayReason {
  readonly kind: 'invalid_token'
  /**
   * Time of the gateway's finding, milliseconds since 1970, if stated; a token bound later is a new
   * one.
   */
  readonly since: number | null
  /** A wrong package, environment or project gives the same answer. */
  readonly isSuspect: boolean
  /**
   * The answer concerns the path or the topic of the request, of which the token is a part; the
   * token is kept.
   */
  readonly isOfRequest?: true
}

/** A retry may succeed. */
export interface Delayed extends GatewayReason {
  readonly kind: 'throttled' | 'server_error'
  /** Stated by the gateway. */
  readonly retryAfterMs: number | null
}

/**
 * No request was made: the circuit is open, or the rate is used up. Says nothing about the device
 * or the message.
 */
export interface HeldBack extends GatewayReason {
  readonly kind: 'held_back'
  /** Time until a retry is worthwhile. */
  readonly retryAfterMs: number
  /** The rate has room at that time, unless more messages arrive. */
  readonly hasTurn?: boolean
}

/** The gateway could not be reached, or its answer did not arrive. */
export interface NetworkFailure extends GatewayReason {
  readonly kind: 'network'
  /** The request may have reached the gateway; a retry relies on `deduplicationId`. */
  readonly mayBeDelivered: boolean
  /**
   * A command that may have reached the app, which could not recognise a repetition: it is not sent
   * again.
   */
  readonly isUnrepeatable?: true
}

/** The quota of the app, of a message class or of a device is used up for today. */
export interface QuotaUsedUp extends GatewayReason {
  readonly kind: 'quota'
  readonly scope: QuotaScope
  /** End of the vendors' day, milliseconds since 1970. */
  readonly endsAt: number
}

/**
 * Scope of a quota: a device, a certificate, a class of messages of a certificate, or requests to a
 * list of devices. When the list quota is used up, devices get one request each.
 */
export type QuotaScope = 'device' | 'certificate' | 'list' | MessageClass

/** Messages that a gateway counts separately. */
export type MessageClass = 'command' | 'operational' | 'private' | 'public' | 'system'

/** Ends of the used-up quotas of a certificate, milliseconds since 1970. */
export type QuotaPauses = Partial<Readonly<Record<Exclude<QuotaScope, 'device' | 'list'>, number>>>
