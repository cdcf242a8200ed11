import { AppError, type Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import {
  confirmRefusal,
  type Freshness,
  type InvalidatedCache,
} from '../../../lib/invalidated-cache.js'
import { SealedTextError, type SecretBox } from '../../../lib/secrets/secret-box.js'
import { equalSecrets } from '../../../lib/secrets/tokens.js'
import type { GatewayCertificate } from '../../../push/certificate.js'
import type { SealedColumn } from '../../secrets/secret-service.js'
import type { AppCertificates } from './certificate-caches.js'
import {
  type CertificateSecrets,
  certificateContext,
  gatewayCertificate,
  type KnownCertificates,
  type PushCertificateEntry,
  parseReceiptText,
  type ReceiptText,
  type StoredCertificate,
} from './certificate-model.js'
import type { CertificateStore } from './certificate-store.js'

interface CertificateServiceOptions {
  readonly database: Database
  readonly store: CertificateStore
  readonly secretBox: SecretBox
  readonly cache: InvalidatedCache<string, AppCertificates>
  readonly ownerCache: InvalidatedCache<Int64, { readonly appId: string }>
  /** Public address of the service for gateways; null: unreachable. */
  readonly publicUrl: string | null
}

/** The certificate that a receipt was sent to. */
export interface ReceiptAddressee {
  readonly appId: string
  readonly certificate: PushCertificateEntry
}

/** Channel and environment of a gateway; undefined matches none. */
type GatewayKind = {
  readonly [K in 'channel' | 'environment']: GatewayCertificate[K] | undefined
}

/** The certificates of applications, decrypted. */
export class CertificateService implements KnownCertificates {
  constructor(private readonly options: CertificateServiceOptions) {}

  /** Tests whether any application has a certificate. */
  async exist(): Promise<boolean> {
    const { database, store } = this.options
    return (await database.read((db) => store.count(db))) > 0
  }

  /**
   * Leaves out certificates that no key decrypts; `hermod check` names them.
   * @param freshness `current` where they may refuse the call
   */
  async of(
    appId: string,
    freshness: Freshness = 'cached',
  ): Promise<readonly PushCertificateEntry[]> {
    return (await this.#certificates(appId, freshness)).entries
  }

  /**
   * Returns the oldest certificate of a gateway for notifications that the system shows (rule G6).
   *
   * @throws AppError push_certificate_not_found
   */
  async first(appId: string, { channel, environment }: GatewayKind): Promise<PushCertificateEntry> {
    const found = await confirmRefusal(
      async (freshness) =>
        (await this.of(appId, freshness)).find(
          ({ gateway }) =>
            gateway.channel === channel &&
            gateway.environment === environment &&
            (gateway.pushType ?? 'alert') === 'alert',
        ),
      (certificate) => certificate === undefined,
    )
    if (!found) throw new AppError('push_certificate_not_found')
    return found
  }

  /**
   * Finds the certificate of a receipt path.
   *
   * @param text part of the path after the channel
   * @returns null when the path is not one of this service
   */
  async findByReceiptPath(channel: string, text: string): Promise<ReceiptAddressee | null> {
    const parsed = parseReceiptText(text)
    if (parsed === null) return null
    const { certificateId } = parsed
    const { database, store, ownerCache } = this.options
    const owner = await ownerCache.load(certificateId, () =>
      database.read((db) => store.findOwner(db, certificateId)),
    )
    if (owner === null) return null
    return confirmRefusal(
      (freshness) => this.#addressee(channel, { ...parsed, appId: owner.appId }, freshness),
      (addressee) => addressee === null,
    )
  }

  async #addressee(
    channel: string,
    { appId, certificateId, secret }: ReceiptText & { readonly appId: string },
    freshness: Freshness,
  ): Promise<ReceiptAddressee | null> {
    const { entries, receiptSecrets } = await this.#certificates(appId, freshness)
    const certificate = entries.find((entry) => entry.certificateId === certificateId)
    const isRight = equalSecrets(secret, receiptSecrets.get(certificateId) ?? '')
    return certificate?.gateway.channel === channel && isRight ? { appId, certificate } : null
  }

  /** Returns null when no key decrypts the secrets. */
  secretsOf(stored: StoredCertificate): CertificateSecrets | null {
    try {
      const text = this.options.secretBox.open(stored.sealed, certificateContext(stored))
      return JSON.parse(text) as CertificateSecrets
    } catch (error) {
      if (error instanceof SealedTextError) return null
      throw error
    }
  }

  /** The stored secrets of all certificates. */
  get sealedSecrets(): SealedColumn {
    const { database, store } = this.options
    return {
      list: async (db) =>
        (await store.listAll(db)).map((stored) => ({
          appId: stored.appId,
          context: certificateContext(stored),
          sealed: stored.sealed,
        })),
      replace: ({ appId, sealed: before }, sealed) =>
        database.transaction((tx) => store.reseal(tx, appId, before, sealed)),
    }
  }

  async #certificates(appId: string, freshness: Freshness): Promise<AppCertificates> {
    const { database, store, cache } = this.options
    const read = async () => this.#opened(await database.read((db) => store.list(db, appId)))
    return (await cache.load(appId, read, freshness)) ?? none
  }

  #opened(all: readonly StoredCertificate[]): AppCertificates {
    const entries: PushCertificateEntry[] = []
    const receiptSecrets = new Map<Int64, string>()
    for (const stored of all) {
      const secrets = this.secretsOf(stored)
      if (secrets === null) continue
      receiptSecrets.set(stored.certificateId, secrets.receipt_secret)
      const { certificateId, name, expiresAt, lastAcceptedAt, pauses } = stored
      const gateway = gatewayCertificate(stored, secrets, this.options.publicUrl)
      const { receipt_key: secret = '' } = secrets
      const { receipt_user: user = '' } = stored.options
      entries.push({
        certificateId,
        name,
        gateway,
        expiresAt,
        lastAcceptedAt,
        pauses,
        ...(secret !== '' && { receiptProof: { user, secret } }),
      })
    }
    return { entries, receiptSecrets }
  }
}

const none: AppCertificates = { entries: [], receiptSecrets: new Map() }
