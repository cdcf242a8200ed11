import type { Database, Queryable } from '../../../db/database.js'
import { type Clock, dayMs } from '../../../lib/clock.js'
import type { MaybePromise } from '../../../lib/maybe-promise.js'
import type { ExpiringCertificate } from './certificate-model.js'
import type { CertificateStore } from './certificate-store.js'

/** From when on operators are warned. */
const warningMs = 30 * dayMs

/** Told about certificates that have ended, and those that will soon. */
export interface ExpiryObserver {
  /** @param days whole days that are left */
  expiresSoon(certificate: ExpiringCertificate, days: number): void
  expired(certificate: ExpiringCertificate): void
}

/** Watches certificates that end by themselves. */
export class CertificateExpiry {
  /** The day on which the observer heard of them, by application, name and end. */
  #told = new Map<string, number>()

  constructor(
    private readonly options: {
      readonly database: Database
      readonly store: CertificateStore
      readonly clock: Clock
    },
  ) {}

  /** All that end at some time, the first one to do so first. */
  list(): MaybePromise<ExpiringCertificate[]> {
    const { database, store } = this.options
    return database.read((db) => store.listExpiring(db))
  }

  /** Tells of each certificate once a day, as long as this process runs. */
  async tell(observer: ExpiryObserver): Promise<void> {
    const now = this.options.clock.now()
    const today = Math.floor(now / dayMs)
    const told = new Map<string, number>()
    for (const certificate of await this.list()) {
      const { appId, name, expiresAt } = certificate
      if (expiresAt - now > warningMs) break
      const key = JSON.stringify([appId, name, expiresAt])
      told.set(key, today)
      if (this.#told.get(key) === today) continue
      if (expiresAt <= now) observer.expired(certificate)
      else observer.expiresSoon(certificate, Math.floor((expiresAt - now) / dayMs))
    }
    this.#told = told
  }

  /** @returns how many certificates there are, and those that have ended */
  async check(db: Queryable): Promise<{ checked: number; expired: ExpiringCertificate[] }> {
    const { store, clock } = this.options
    const now = clock.now()
    const all = await store.listExpiring(db)
    const expired = all.filter(({ expiresAt }) => expiresAt <= now)
    return { checked: await store.count(db), expired }
  }
}
