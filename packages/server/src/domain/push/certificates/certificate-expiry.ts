import type { Database, Queryable } from '../../../db/database.js'
import { type Clock, dayMs } from '../../../lib/clock.js'
import type { ExpiringCertificate } from './certificate-model.js'
import type { CertificateStore } from './certificate-store.js'

/** Time before the expiry at which warnings begin. */
const warningMs = 30 * dayMs

/** Receives warnings about expired certificates, and those that expire soon. */
export interface ExpiryObserver {
  /** @param days whole days that are left */
  expiresSoon(certificate: ExpiringCertificate, days: number): void
  expired(certificate: ExpiringCertificate): void
}

/** Reports certificates that expire. */
export class CertificateExpiry {
  /** Day of the last report, by application, name and expiry. */
  #notified = new Map<string, number>()

  constructor(
    private readonly options: {
      readonly database: Database
      readonly store: CertificateStore
      readonly clock: Clock
    },
  ) {}

  /** Lists all certificates with an expiry, the earliest first. */
  async list(): Promise<ExpiringCertificate[]> {
    const { database, store } = this.options
    return database.read((db) => store.listExpiring(db))
  }

  /** Reports each certificate once a day while this process runs. */
  async notify(observer: ExpiryObserver): Promise<void> {
    const now = this.options.clock.now()
    const today = Math.floor(now / dayMs)
    const notified = new Map<string, number>()
    for (const certificate of await this.list()) {
      const { appId, name, expiresAt } = certificate
      if (expiresAt - now > warningMs) break
      const key = JSON.stringify([appId, name, expiresAt])
      notified.set(key, today)
      if (this.#notified.get(key) === today) continue
      if (expiresAt <= now) observer.expired(certificate)
      else observer.expiresSoon(certificate, Math.floor((expiresAt - now) / dayMs))
    }
    this.#notified = notified
  }

  /** @returns the number of certificates, and the expired ones */
  async check(db: Queryable): Promise<{ checked: number; expired: ExpiringCertificate[] }> {
    const { store, clock } = this.options
    const now = clock.now()
    const all = await store.listExpiring(db)
    const expired = all.filter(({ expiresAt }) => expiresAt <= now)
    return { checked: await store.count(db), expired }
  }
}
