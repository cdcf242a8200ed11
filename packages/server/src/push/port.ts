/** The port of the push gateways: one notification to devices of one channel, one outcome each. */
import type { CertificateInspection, GatewayCertificate, SendLimits } from './certificate.js'
import type { PushNotification } from './notification.js'
import type { PushOutcome, QuotaPauses } from './outcomes.js'

/**
 * Sends to the gateway of one channel. Throws only for bugs; every behaviour of a gateway is an
 * outcome.
 */
export interface PushSender {
  /** @returns an outcome for each target, in order; targets may repeat a token */
  send(request: PushRequest): Promise<readonly PushOutcome[]>
}

/** One notification to devices of one channel, with the credentials to use. */
export interface PushRequest {
  readonly certificate: GatewayCertificate
  readonly notification: PushNotification
  readonly targets: readonly PushTarget[]
  /** Channels currently paused; omit for none. */
  readonly pauses?: QuotaPauses
}

/** A device as its gateway identifies it. */
export interface PushTarget {
  readonly token: string
  /**
   * The number for the device's badge, from the service's own counter. Null: unknown; gateways that
   * accept absolute numbers only then leave the badge as it is.
   */
  readonly badgeCount: number | null
}

/** Checks certificates for the operators who set them up. */
export interface CertificateInspector {
  /** Reads the credentials as a send does, without a request to the gateway. */
  inspect(certificate: GatewayCertificate): Promise<CertificateInspection>
  /**
   * Sends a message to a device that cannot exist, to test the credentials. The result does not
   * affect other sends.
   */
  probe(certificate: GatewayCertificate): Promise<PushOutcome>
  /** Returns the limits of a certificate, with the service's defaults. */
  limits(certificate: Pick<GatewayCertificate, 'channel' | 'limits'>): SendLimits
}
