import { createHash, randomBytes, X509Certificate } from 'node:crypto'
import { AppError, type CertificateOptions } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import { definedOnly } from '../../../lib/defined-only.js'
import type { IdGenerator } from '../../../lib/ids/ids.js'
import type { SecretBox } from '../../../lib/secrets/secret-box.js'
import type { CertificateInspection, SendLimits, VendorChannel } from '../../../push/certificate.js'
import type { CertificateInspector } from '../../../push/port.js'
import type { AppService } from '../../apps/app-service.js'
import { type CertificateCheck, checkOf } from './certificate-check.js'
import {
  type CertificateSecrets,
  certificateContext,
  gatewayCertificate,
  limitsOf,
  type ReceiptAddress,
  receiptAddress,
  requestsReceipts,
  type StoredCertificate,
} from './certificate-model.js'
import type { CertificateService } from './certificate-service.js'
import type { CertificateStore } from './certificate-store.js'

interface CertificateAdminServiceOptions {
  readonly database: Database
  readonly store: CertificateStore
  readonly certificates: CertificateService
  readonly apps: Pick<AppService, 'get' | 'lockForUpdate'>
  readonly inspector: CertificateInspector
  readonly ids: IdGenerator
  readonly clock: Clock
  readonly secretBox: SecretBox
  /** Public address of the service for gateways; null: unreachable. */
  readonly publicUrl: string | null
}

/** A certificate as set by an operator; credentials are always complete. */
export interface CertificateDraft {
  readonly name: string
  readonly channel: VendorChannel
  /** 0: development, 1: production */
  readonly environment: number
  readonly gatewayAppId: string
  readonly appKey: string
  readonly appSecret: string
  readonly certificate: string
  /** Key that proves the gateway's receipts; "" for none. */
  readonly receiptKey: string
  readonly options: CertificateOptions
}

/** A certificate for operators, without its secrets. */
export interface CertificateSummary {
  readonly stored: StoredCertificate
  /** Fingerprint of the secrets, which distinguishes certificates; "" when no key decrypts them. */
  readonly fingerprint: string
  readonly hasReceiptKey: boolean
  /** Includes the service's defaults. */
  readonly limits: SendLimits
  /** False when no key decrypts the secrets. */
  readonly requestsReceipts: boolean
  /** Without URL when no key decrypts the secrets. */
  readonly receipts: ReceiptAddress
}

const receiptSecretBytes = 24
const fingerprintLength = 16

/** Operations of operators on push certificates. */
export class CertificateAdminService {
  constructor(private readonly options: CertificateAdminServiceOptions) {}

  /**
   * Creates a certificate, or replaces all of one except its ID and receipt address.
   *
   * @throws AppError app_not_found; invalid_parameter with all faults
   */
  async set(appId: string, draft: CertificateDraft): Promise<CertificateSummary> {
    const { database, store, apps, certificates } = this.options
    await apps.get(appId)
    // The other faults of a draft depend on its channel.
    requireSameChannel(await this.#find(appId, draft.name), draft)
    const { expiresAt } = await this.#inspect(draft)
    const certificateId = await this.options.ids.next()
    await database.transaction(async (tx) => {
      await apps.lockForUpdate(tx, appId)
      const before = await store.findByName(tx, appId, draft.name)
      if (before === null) return this.#insert(tx, { appId, certificateId }, draft, expiresAt)
      requireSameChannel(before, draft)
      // When no key decrypts the old secrets, the receipt path is lost with them.
      const receiptSecret = certificates.secretsOf(before)?.receipt_secret ?? newReceiptSecret()
      await store.update(tx, before, this.#columns(before, draft, { expiresAt, receiptSecret }))
    })
    return this.#summary(await this.#get(appId, draft.name))
  }

  /**
   * Lists oldest first.
   *
   * @throws AppError app_not_found
   */
  async list(appId: string): Promise<CertificateSummary[]> {
    const { database, store, apps } = this.options
    await apps.get(appId)
    const all = await database.read((db) => store.list(db, appId))
    return all.map((stored) => this.#summary(stored))
  }

  /**
   * Removes a certificate. Devices stay bound to its name.
   *
   * @throws AppError app_not_found, push_certificate_not_found
   */
  async remove(appId: string, name: string): Promise<void> {
    const { database, store, apps } = this.options
    await database.transaction(async (tx) => {
      await apps.lockForUpdate(tx, appId)
      const stored = await store.findByName(tx, appId, name)
      if (stored === null) throw new AppError('push_certificate_not_found')
      await store.delete(tx, stored)
    })
  }

  /**
   * Checks a certificate at the gateway; no device is reached.
   *
   * @throws AppError app_not_found, push_certificate_not_found
   */
  async check(appId: string, name: string): Promise<CertificateCheck> {
    const { apps, certificates, inspector, publicUrl } = this.options
    await apps.get(appId)
    const stored = await this.#get(appId, name)
    const secrets = certificates.secretsOf(stored)
    if (secrets === null)
      return { isOk: false, code: 'unreadable', words: 'no secret key opens its secrets' }
    const check = checkOf(await inspector.probe(gatewayCertificate(stored, secrets, publicUrl)))
    const { problem } = receiptAddress(stored, secrets, publicUrl)
    return problem === '' ? check : { ...check, words: `${check.words}; ${problem}` }
  }

  async #get(appId: string, name: string): Promise<StoredCertificate> {
    const stored = await this.#find(appId, name)
    if (stored === null) throw new AppError('push_certificate_not_found')
    return stored
  }

  async #find(appId: string, name: string): Promise<StoredCertificate | null> {
    const { database, store } = this.options
    return database.read((db) => store.findByName(db, appId, name))
  }

  async #inspect(draft: CertificateDraft): Promise<CertificateInspection> {
    const secrets = secretsOf(draft, '')
    const gateway = gatewayCertificate({ ...draft, certificateId: 0 }, secrets, null)
    const inspection = await this.options.inspector.inspect(gateway)
    const violations = [
      ...inspection.faults.map(({ field, text }) => `${field} ${text}`),
      ...foreignOptions(draft),
      ...endpointViolations(draft.options),
    ]
    if (violations.length > 0) throw new AppError('invalid_parameter', violations.join('; '))
    return inspection
  }

  async #insert(
    tx: Tx,
    key: Pick<StoredCertificate, 'appId' | 'certificateId'>,
    draft: CertificateDraft,
    expiresAt: number | null,
  ): Promise<void> {
    const columns = this.#columns(key, draft, { expiresAt, receiptSecret: newReceiptSecret() })
    await this.options.store.insert(tx, {
      ...columns,
      app_id: key.appId,
      certificate_id: key.certificateId,
      name: draft.name,
      channel: draft.channel,
      created_at: columns.updated_at,
    })
  }

  #columns(
    key: Pick<StoredCertificate, 'appId' | 'certificateId'>,
    draft: CertificateDraft,
    { expiresAt, receiptSecret }: { expiresAt: number | null; receiptSecret: string },
  ) {
    const { secretBox, clock } = this.options
    const secrets = JSON.stringify(secretsOf(draft, receiptSecret))
    return {
      environment: draft.environment,
      gateway_app_id: draft.gatewayAppId,
      app_key: draft.appKey,
      sealed: secretBox.seal(secrets, certificateContext(key)),
      options: JSON.stringify(draft.options),
      expires_at: expiresAt,
      // Facts about the old credentials do not apply to the new ones.
      last_accepted_at: 0,
      pauses: '{}',
      updated_at: clock.now(),
    }
  }

  #summary(stored: StoredCertificate): CertificateSummary {
    const { certificates, inspector, publicUrl } = this.options
    const limits = inspector.limits({ ...stored, limits: limitsOf(stored.options) ?? {} })
    const secrets = certificates.secretsOf(stored)
    if (secrets === null)
      return {
        stored,
        fingerprint: '',
        hasReceiptKey: false,
        limits,
        requestsReceipts: false,
        receipts: { url: '', problem: '' },
      }
    return {
      stored,
      fingerprint: fingerprintOf(secrets),
      hasReceiptKey: secrets.receipt_key !== undefined,
      limits,
      requestsReceipts: requestsReceipts(stored, secrets),
      receipts: receiptAddress(stored, secrets, publicUrl),
    }
  }
}

/** @param before the certificate of this name; null: there is none */
function requireSameChannel(before: StoredCertificate | null, { channel }: CertificateDraft): void {
  if (before !== null && before.channel !== channel)
    throw new AppError(
      'invalid_parameter',
      `channel must be ${before.channel}, as it is; remove the certificate first`,
    )
}

function secretsOf(draft: CertificateDraft, receiptSecret: string): CertificateSecrets {
  return {
    app_secret: draft.appSecret,
    certificate: draft.certificate,
    receipt_secret: receiptSecret,
    ...(draft.receiptKey !== '' && { receipt_key: draft.receiptKey }),
  }
}

function newReceiptSecret(): string {
  return randomBytes(receiptSecretBytes).toString('base64url')
}

function fingerprintOf({ app_secret, certificate }: CertificateSecrets): string {
  const text = JSON.stringify([app_secret, certificate])
  return createHash('sha256').update(text).digest('hex').slice(0, fingerprintLength)
}

/** Options that only some channels have. */
const optionChannels = {
  api_version: ['vendor_h'],
  push_type: ['ios_gw'],
  requests_receipts: ['vendor_x', 'vendor_o', 'vendor_v', 'vendor_f'],
  receipt_id: ['vendor_h', 'vendor_v'],
  notify_level: ['vendor_o'],
  templates: ['vendor_x', 'vendor_o'],
} as const satisfies Partial<Record<keyof CertificateOptions, readonly VendorChannel[]>>

/** Returns the faults of options that say something about another channel. */
function foreignOptions({
  channel,
  options,
}: Pick<CertificateDraft, 'channel' | 'options'>): string[] {
  const foreign = Object.entries<readonly VendorChannel[]>(optionChannels)
    .filter(
      ([name, channels]) =>
        options[name as keyof CertificateOptions] && !channels.includes(channel),
    )
    .map(([name, channels]) => `${name} is an option of ${listText(channels)}`)
  const lacksVersion = channel === 'vendor_h' && options.receipt_id && options.api_version !== 3
  return lacksVersion ? [...foreign, 'receipt_id needs api_version 3'] : foreign
}

/** Returns names as words, such as "a, b and c". */
function listText(names: readonly string[]): string {
  return names.join(', ').replace(/, ([^,]*)$/, ' and $1')
}

function endpointViolations({ send_url, auth_url, ca }: CertificateOptions): string[] {
  const violations = Object.entries(definedOnly({ send_url, auth_url }))
    .filter(([, url]) => !isSafeUrl(url))
    .map(([name]) => `${name} must be an https URL without user, query and fragment`)
  if (ca !== undefined && !isCertificate(ca))
    violations.push('ca must be the PEM text of a certificate')
  return violations
}

/** Tests that the URL protects secrets: https, or http on this machine. */
function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password, search, hash } = new URL(text)
  const isHere = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
  const isPlain = [username, password, search, hash].every((part) => part === '')
  return isPlain && (protocol === 'https:' || (protocol === 'http:' && isHere))
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem) !== undefined
  } catch {
    return false
  }
}
