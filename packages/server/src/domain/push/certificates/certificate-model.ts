import { type Int64, pushEnvironment } from '@hermod/protocol'
import { definedOnly } from '../../../lib/defined-only.js'
import { toBase36 } from '../../../lib/ids/base36.js'
import type { SecretPlace } from '../../../lib/secrets/secret-box.js'
import { receiptAddressProblem } from '../../../push/rules/receipt-address.js'
import type { GatewayCertificate, QuotaPauses, VendorChannel } from '../../../push/sender.js'

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
  readonly pauses: QuotaPauses
  /** What its gateway proves itself with when it sends receipts; undefined: their address alone proves it. */
  readonly receiptProof?: ReceiptProof
}

/** As it was set in the vendor's console. */
export interface ReceiptProof {
  /** Name of the callback user; "" where the vendor has none. */
  readonly user: string
  readonly secret: string
}

/** The certificates of applications, as those who send need them; the answers may be a second old. */
export interface KnownCertificates {
  /** By ID; empty when the application has none. */
  of(appId: string): Promise<readonly PushCertificateEntry[]>
}

/** A certificate as it is stored; times in ms. */
export interface StoredCertificate {
  readonly appId: string
  readonly certificateId: Int64
  readonly name: string
  readonly channel: VendorChannel
  /** 0 development, 1 production */
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

/** What is kept secret; members have the names of the JSON text. */
export interface CertificateSecrets {
  readonly app_secret: string
  readonly certificate: string
  /** The end of the path that takes receipts of the gateway. */
  readonly receipt_secret: string
  /** What the gateway signs receipts with, or sends with them. */
  readonly receipt_key?: string
}

/** What the contract has no field for; members have the names of the JSON text. */
export interface CertificateOptions {
  readonly package_name?: string
  readonly category?: string
  readonly channel_id?: string
  readonly badge_class?: string
  readonly allows_pass_through?: boolean
  readonly max_per_second?: number
  readonly max_in_flight?: number
  readonly receipt_user?: string
  readonly send_url?: string
  readonly auth_url?: string
  readonly ca?: string
}

/** A certificate that ends by itself. */
export interface ExpiringCertificate {
  readonly appId: string
  readonly name: string
  readonly channel: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Names the row of a certificate. */
export interface CertificateKey {
  readonly appId: string
  readonly certificateId: Int64
}

/** Where the secrets of a certificate are stored. */
export function certificatePlace({ appId, certificateId }: CertificateKey): SecretPlace {
  return { column: 'push_certificates.sealed', row: `${appId}/${certificateId}` }
}

/** Where the gateway of a certificate is to send receipts. */
export interface ReceiptAddress {
  /** Its last part is a secret; the path alone when nobody knows where gateways reach the service. */
  readonly url: string
  /** Why the gateway cannot be told that, for the operator; "": it can, or needs not be. */
  readonly problem: string
}

/** @param publicUrl where gateways reach the service; null: they do not, or nobody knows */
export function receiptAddress(
  { channel, certificateId }: Pick<StoredCertificate, 'channel' | 'certificateId'>,
  { receipt_secret }: Pick<CertificateSecrets, 'receipt_secret'>,
  publicUrl: string | null,
): ReceiptAddress {
  const path = `/push/receipts/${channel}/${toBase36(certificateId)}.${receipt_secret}`
  const url = (publicUrl ?? '') + path
  return { url, problem: receiptAddressProblem(channel, url) }
}

const receiptText = /^([0-9a-z]{1,11})\.([\w-]{1,128})$/

/** The last part of {@link ReceiptAddress.url}; null when it is of another form. */
export function parseReceiptText(
  text: string,
): { readonly certificateId: number; readonly secret: string } | null {
  const [, id = '', secret = ''] = receiptText.exec(text) ?? []
  const certificateId = Number.parseInt(id, 36)
  return Number.isSafeInteger(certificateId) ? { certificateId, secret } : null
}

/**
 * The certificate as senders take it.
 *
 * @param publicUrl where gateways reach the service; null: they are told no address for receipts
 */
export function gatewayCertificate(
  stored: Pick<
    StoredCertificate,
    'channel' | 'certificateId' | 'environment' | 'gatewayAppId' | 'appKey' | 'options'
  >,
  secrets: CertificateSecrets,
  publicUrl: string | null,
): GatewayCertificate {
  const { package_name, category, channel_id, badge_class, allows_pass_through } = stored.options
  const endpoint = endpointOf(stored.options)
  const { url, problem } = receiptAddress(stored, secrets, publicUrl)
  const isTold = publicUrl !== null && problem === ''
  const limits = limitsOf(stored.options)
  return {
    channel: stored.channel,
    environment: stored.environment === pushEnvironment.development ? 'development' : 'production',
    appId: stored.gatewayAppId,
    appKey: stored.appKey,
    appSecret: secrets.app_secret,
    certificate: secrets.certificate,
    ...definedOnly({
      packageName: package_name,
      category,
      channelId: channel_id,
      badgeClass: badge_class,
      allowsPassThrough: allows_pass_through,
    }),
    ...(isTold ? { receiptUrl: url } : {}),
    ...(endpoint === null ? {} : { endpoint }),
    ...(limits === null ? {} : { limits }),
  }
}

/** What of the limits is set; null: nothing. */
export function limitsOf({ max_per_second, max_in_flight }: CertificateOptions) {
  if (max_per_second === undefined && max_in_flight === undefined) return null
  return definedOnly({ perSecond: max_per_second, maxInFlight: max_in_flight })
}

function endpointOf({ send_url, auth_url, ca }: CertificateOptions) {
  if (send_url === undefined && auth_url === undefined && ca === undefined) return null
  return definedOnly({ sendUrl: send_url, authUrl: auth_url, ca })
}
