import type { Int64 } from '@hermod/protocol'
import type { GatewayCertificate } from '../../../push/sender.js'

/** A certificate of an application, opened. */
export interface PushCertificateEntry {
  readonly certificateId: Int64
  /** What devices name as notifier_name. */
  readonly name: string
  readonly gateway: GatewayCertificate
  /** Milliseconds since 1970; null: it does not expire, or nobody can tell. */
  readonly expiresAt: number | null
  /** When a gateway last took a push with it, to the minute, milliseconds since 1970; 0: never. */
  readonly lastAcceptedAt: number
  /** The day's quota is used up until then, milliseconds since 1970; 0: it is not. */
  readonly pausedUntil: number
}

/** The certificates of applications, as those who send need them; the answers may be a second old. */
export interface KnownCertificates {
  /** By ID; empty when the application has none. */
  of(appId: string): Promise<readonly PushCertificateEntry[]>
}
