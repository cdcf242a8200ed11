import { type CertificateOptions, type Int64, pushEnvironment } from '@hermod/protocol'
import { definedOnly } from '../../../lib/defined-only.js'
import { toBase36 } from '../../../lib/ids/base36.js'
import type { SealContext } from '../../../lib/secrets/secret-box.js'
import {
  isAddressTooLong,
  receiptProblem,
  sendsReceipts,
} from '../../../push/rules/receipt-address.js'
import type { GatewayCertificate, VendorChannel } from '../../../push/certificate.js'
import type { QuotaPauses } from '../../../push/outcomes.js'

/** A certificate of an application, decrypted. */
export interface PushCertificateEntry {
  readonly certificateId: Int64
  /** The notifier_name of devices. */
  readonly name: string
  readonly gateway: GatewayCertificate
  /** Milliseconds since 1970; null: no expiry, or an unknown one. */
  readonly expiresAt: number | null
  /**
   * Time of the last push that a gateway accepted, to the minute, milliseconds since 1970; 0:
   * never.
   */
  readonly lastAcceptedAt: number
  readonly pauses: QuotaPauses
  /** Proof in the gateway's receipts; undefined: their address alone is the proof. */
  readonly receiptProof?: ReceiptProof
}

/** The proof as set in the vendor's console. */
export interface ReceiptProof {
  /** Name of the callback user; "" for vendors without one. */
  readonly user: string
  readonly secret: string
}

/** The certificates of applications for senders. Changes by other nodes show within a second. */
export interface KnownCertificates {
  /** Returns the certificates by ID; empty when the application has none. */
  of(appId: string): Promise<readonly PushCertificateEntry[]>
}

/** A stored certificate; times in ms. */
export interface StoredCertificate {
  readonly appId: string
  readonly certificateId: Int64
  readonly name: string
  readonly channel: VendorChannel
  /** 0: development, 1: production */
  readonly environment: number
  readonly gatewayAppId: string
  readonly appKey: string
  /** {@link CertificateSecrets} as JSON, encrypted. */
  readonly sealed: string
  readonly options: CertificateOptions
  readonly expiresAt: number | null
  readonly lastAcceptedAt: number
  readonly pauses: QuotaPauses
  readonly createdAt: number
  readonly updatedAt: number
}

/** Secret fields; members have the names of the JSON text. */
export interface CertificateSecrets {
  readonly app_secret: string
  readonly certificate: string
  /** Last part of the path for the gateway's receipts. */
  readonly receipt_secret: string
  /** Key with which the gateway signs receipts, or that it sends with them. */
  readonly receipt_key?: string
}

/** A certificate with an expiry. */
export interface ExpiringCertificate {
  readonly appId: string
  readonly name: string
  readonly channel: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Key of a certificate's row. */
export interface CertificateKey {
  readonly appId: string
  readonly certificateId: Int64
}

/** Returns the location of a certificate's secrets. */
export function certificateContext({ appId, certificateId }: CertificateKey): SealContext {
  return { column: 'push_certificates.sealed', row: `${appId}/${certificateId}` }
}

/** Address for the receipts of a certificate's gateway. */
export interface ReceiptAddress {
  /** Contains a secret in its last part; only the path when the public address is unknown. */
  readonly url: string
  /** Reason why receipts are missing, for the operator; "" for none. */
  readonly problem: string
}

/** @param publicUrl public address of the service; null: unreachable or unknown */
export function receiptAddress(
  stored: Pick<StoredCertificate, 'channel' | 'certificateId' | 'options'>,
  secrets: Pick<CertificateSecrets, 'receipt_secret' | 'receipt_key'>,
  publicUrl: string | null,
): ReceiptAddress {
  const { channel, certificateId, options } = stored
  const path = `/push/receipts/${channel}/${toBase36(certificateId)}.${secrets.receipt_secret}`
  const url = (publicUrl ?? '') + path
  const problem = receiptProblem({
    channel,
    url,
    isPublic: publicUrl !== null,
    isRequested: requestsReceipts(stored, secrets),
    receiptId: options.receipt_id,
  })
  return { url, problem }
}

const receiptText = /^([0-9a-z]{1,11})\.([\w-]{1,128})$/

/** The last part of a receipt path. */
export interface ReceiptText {
  readonly certificateId: number
  readonly secret: string
}

/** Returns the last part of {@link ReceiptAddress.url}; null when its form is invalid. */
export function parseReceiptText(text: string): ReceiptText | null {
  const [, id = '', secret = ''] = receiptText.exec(text) ?? []
  const certificateId = Number.parseInt(id, 36)
  return Number.isSafeInteger(certificateId) ? { certificateId, secret } : null
}

/**
 * Returns the certificate for senders.
 *
 * @param publicUrl public address of the service; null: gateways get no receipt address
 */
export function gatewayCertificate(
  stored: Pick<
    StoredCertificate,
    'channel' | 'certificateId' | 'environment' | 'gatewayAppId' | 'appKey' | 'options'
  >,
  secrets: CertificateSecrets,
  publicUrl: string | null,
): GatewayCertificate {
  const { options } = stored
  const endpoint = endpointOf(options)
  const { url } = receiptAddress(stored, secrets, publicUrl)
  const isRequested = requestsReceipts(stored, secrets)
  const hasAddress = isRequested && publicUrl !== null && !isAddressTooLong(stored.channel, url)
  const limits = limitsOf(options)
  return {
    channel: stored.channel,
    environment: stored.environment === pushEnvironment.development ? 'development' : 'production',
    appId: stored.gatewayAppId,
    appKey: stored.appKey,
    appSecret: secrets.app_secret,
    certificate: secrets.certificate,
    ...definedOnly({
      packageName: options.package_name,
      category: options.category,
      channelId: options.channel_id,
      badgeClass: options.badge_class,
      allowsPassThrough: options.allows_pass_through,
      pushType: options.push_type,
      apiVersion: options.api_version,
      notifyLevel: options.notify_level,
      templates: options.templates,
      receiptId: isRequested ? options.receipt_id : undefined,
    }),
    ...(hasAddress ? { receiptUrl: url } : {}),
    ...(endpoint === null ? {} : { endpoint }),
    ...(limits === null ? {} : { limits }),
  }
}

/**
 * Tests whether pushes ask the gateway for receipts. vendor_f refuses pushes with an address that its
 * console does not know; a receipt key comes from the console, and shows that receipts are set up there.
 */
export function requestsReceipts(
  { channel, options }: Pick<StoredCertificate, 'channel' | 'options'>,
  { receipt_key = '' }: Pick<CertificateSecrets, 'receipt_key'>,
): boolean {
  if (!sendsReceipts(channel)) return false
  return options.requests_receipts ?? (channel !== 'vendor_f' || receipt_key !== '')
}

/** Returns the limits that are set; null for none. */
export function limitsOf({ max_per_second, max_in_flight }: CertificateOptions) {
  if (max_per_second === undefined && max_in_flight === undefined) return null
  return definedOnly({ perSecond: max_per_second, maxInFlight: max_in_flight })
}

function endpointOf({ send_url, auth_url, ca }: CertificateOptions) {
  if (send_url === undefined && auth_url === undefined && ca === undefined) return null
  return definedOnly({ sendUrl: send_url, authUrl: auth_url, ca })
}
