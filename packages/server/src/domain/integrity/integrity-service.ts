import type { Database } from '../../db/database.js'
import type { FileCheck, FileReport } from '../files/file-check.js'
import type { CertificateExpiry } from '../push/certificates/certificate-expiry.js'
import type { ExpiringCertificate } from '../push/certificates/certificate-model.js'
import type { SecretService } from '../secrets/secret-service.js'
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
      readonly secrets: Pick<SecretService, 'check'>
      readonly expiry: Pick<CertificateExpiry, 'check'>
      readonly files: Pick<FileCheck, 'checkReferences' | 'checkStore'>
    },
  ) {}

  async check(): Promise<IntegrityReport> {
    const { database, store, secrets, expiry, files } = this.options
    let checked = 0
    let isTruncated = false
    const faults: IntegrityFault[] = []
    const add = (report: FileReport) => {
      checked += report.checked
      if (report.faults.length > maxFaultsPerCheck) isTruncated = true
      faults.push(...report.faults.slice(0, maxFaultsPerCheck))
    }
    await database.snapshot(async (db) => {
      for (const check of integrityChecks) {
        checked += await store.count(db, check)
        const rows = await store.faults(db, check, maxFaultsPerCheck + 1)
        if (rows.length > maxFaultsPerCheck) isTruncated = true
        for (const row of rows.slice(0, maxFaultsPerCheck))
          faults.push({
            check: check.name,
            appId: row.app_id,
            subject: row.subject,
            detail: row.detail,
          })
      }
      const stored = await secrets.check(db)
      checked += stored.checked
      if (stored.faults.length > maxFaultsPerCheck) isTruncated = true
      for (const fault of stored.faults.slice(0, maxFaultsPerCheck))
        faults.push({ check: 'stored_secret', ...fault })
      const certificates = await expiry.check(db)
      checked += certificates.checked
      if (certificates.expired.length > maxFaultsPerCheck) isTruncated = true
      for (const expired of certificates.expired.slice(0, maxFaultsPerCheck))
        faults.push({ check: 'push_certificate_expiry', ...expiryFault(expired) })
      add(await files.checkReferences(db, maxFaultsPerCheck + 1))
    })
    add(await files.checkStore(maxFaultsPerCheck + 1))
    return { checked, faults, isTruncated }
  }
}

function expiryFault({ appId, name, channel, expiresAt }: ExpiringCertificate) {
  const at = new Date(expiresAt).toISOString()
  return {
    appId,
    subject: name,
    detail: `the ${channel} certificate expired at ${at}; set a new one with hermod certificate set`,
  }
}
