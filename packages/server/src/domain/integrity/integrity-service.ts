import type { Database } from '../../db/database.js'
import type { FileCheck } from '../files/file-check.js'
import type { CertificateExpiry } from '../push/certificates/certificate-expiry.js'
import type { ExpiringCertificate } from '../push/certificates/certificate-model.js'
import type { SecretService } from '../secrets/secret-service.js'
import type { FaultRow, IntegrityCheck } from './integrity-check.js'
import { type IntegrityStore, integrityChecks } from './integrity-store.js'

/** A fault, with the name of the check that found it. */
export interface IntegrityFault {
  readonly check: string
  readonly appId: string
  readonly subject: string
  readonly detail: string
}

/** The result of all checks. */
export interface IntegrityReport {
  /** The number of rows and files that were checked. */
  readonly checked: number
  readonly faults: readonly IntegrityFault[]
  /** True when a check found more errors than it lists. */
  readonly isTruncated: boolean
}

const maxFaultsPerCheck = 100

/** Compares all derived data with its sources, in one snapshot, while the service runs. */
export class IntegrityService {
  constructor(
    private readonly options: {
      readonly database: Database
      readonly store: IntegrityStore
      /** Forgets the lost histories that were recorded. */
      readonly acknowledgeLosses: () => Promise<void>
      readonly secrets: Pick<SecretService, 'check'>
      readonly expiry: Pick<CertificateExpiry, 'check'>
      readonly files: Pick<FileCheck, 'checkReferences' | 'checkStore'>
      /** Sentences about nodes that do not fit together. */
      readonly nodeNotices: () => Promise<readonly Omit<IntegrityFault, 'appId'>[]>
      /** Failed and late backups. */
      readonly backupFaults: () => Promise<readonly Omit<IntegrityFault, 'appId'>[]>
    },
  ) {}

  /** @param acknowledgesLosses first acknowledges the lost histories that earlier checks have reported */
  async check({ acknowledgesLosses = false } = {}): Promise<IntegrityReport> {
    const { database, store, acknowledgeLosses, secrets, expiry, files } = this.options
    if (acknowledgesLosses) await acknowledgeLosses()
    let checked = 0
    let isTruncated = false
    const faults: IntegrityFault[] = []
    const add = (report: Pick<IntegrityReport, 'checked' | 'faults'>) => {
      checked += report.checked
      if (report.faults.length > maxFaultsPerCheck) isTruncated = true
      faults.push(...report.faults.slice(0, maxFaultsPerCheck))
    }
    await database.snapshot(async (db) => {
      for (const check of integrityChecks) {
        const rows = await store.faults(db, check, maxFaultsPerCheck + 1)
        add({
          checked: await store.count(db, check),
          faults: rows.map((row) => rowFault(check, row)),
        })
      }
      const stored = await secrets.check(db)
      add({
        checked: stored.checked,
        faults: stored.faults.map((fault) => ({ check: 'stored_secret', ...fault })),
      })
      const { checked: certificates, expired } = await expiry.check(db)
      add({ checked: certificates, faults: expired.map(expiryFault) })
      add(await files.checkReferences(db, maxFaultsPerCheck + 1))
    })
    add(await files.checkStore(maxFaultsPerCheck + 1))
    const notices = [...(await this.options.nodeNotices()), ...(await this.options.backupFaults())]
    add({ checked: notices.length, faults: notices.map((notice) => ({ appId: '', ...notice })) })
    return { checked, faults, isTruncated }
  }
}

function rowFault({ name: check }: IntegrityCheck, row: FaultRow): IntegrityFault {
  return { check, appId: row.app_id, subject: row.subject, detail: row.detail }
}

function expiryFault({ appId, name, channel, expiresAt }: ExpiringCertificate): IntegrityFault {
  const at = new Date(expiresAt).toISOString()
  return {
    check: 'push_certificate_expiry',
    appId,
    subject: name,
    detail: `the ${channel} certificate expired at ${at}; set a new one with hermod certificate set`,
  }
}
