import type { Int64 } from '@hermod/protocol'
import type { CachedTables } from '../../../db/checks/cache-check.js'
import type { CacheDefinition } from '../../../lib/invalidated-cache.js'
import type { PushCertificateEntry } from './certificate-model.js'

/** All certificates of an application, decrypted; possibly none. */
export interface AppCertificates {
  /** Ordered by ID. */
  readonly entries: readonly PushCertificateEntry[]
  /** Secrets of the receipt paths, by certificate ID. */
  readonly receiptSecrets: ReadonlyMap<Int64, string>
}

/** Certificates, by app_id. */
export const certificateCache: CacheDefinition<string, AppCertificates> = {
  name: 'push-certificates',
  maxEntries: 10_000,
  maxAgeMs: 1_000,
  tables: {
    push_certificates: {
      columns: [
        'name',
        'channel',
        'environment',
        'gateway_app_id',
        'app_key',
        'sealed',
        'options',
        'expires_at',
        'last_accepted_at',
        'pauses',
      ],
      inserts: true,
    },
  } satisfies CachedTables,
  keyOf: (appId) => appId,
}

/** The owner of a certificate by its ID, which never changes. */
export const certificateOwnerCache: CacheDefinition<Int64, { readonly appId: string }> = {
  name: 'push-certificate-owners',
  maxEntries: 10_000,
  maxAgeMs: 1_000,
  tables: { push_certificates: { columns: [] } } satisfies CachedTables,
  keyOf: String,
}
