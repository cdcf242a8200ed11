import { createBackup, listBackups, pruneBackups, verifyBackup } from '@hermod/protocol'
import type { BackupService } from '../../domain/backup/backup-service.js'
import type { VerificationService } from '../../domain/backup/verification-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

type Found = Awaited<ReturnType<BackupService['list']>>['backups'][number]

interface BackupServices {
  readonly backups: BackupService
  readonly verification: VerificationService
}

export function backupHandlers({ backups, verification }: BackupServices): Handler[] {
  return [
    handle(createBackup, async ({ folder, files_only: filesOnly = false, passphrase_file }) =>
      data({
        job_id: await backups.start(folder || undefined, {
          filesOnly,
          ...(passphrase_file && { passphraseFile: passphrase_file }),
        }),
      }),
    ),
    handle(listBackups, async ({ folder }) => {
      const found = await backups.list(folder || undefined)
      return data({ folder: found.folder, backups: found.backups.map(toBackup) })
    }),
    handle(pruneBackups, async ({ folder }) =>
      data({ job_id: await backups.startPruning(folder || undefined) }),
    ),
    handle(verifyBackup, async ({ folder, backup, passphrase_file }) => {
      const order = {
        folder: folder || undefined,
        backup: backup || undefined,
        passphraseFile: passphrase_file || undefined,
      }
      return data({ job_id: await verification.start(order) })
    }),
  ]
}

function toBackup({ name, createdAt, verifiedAt, manifest }: Found) {
  const database = manifest?.parts.find((part) => part.name === 'hermod.db')
  return {
    name,
    created_at: createdAt,
    verified_at: verifiedAt ?? 0,
    engine: manifest?.engine ?? '',
    version: manifest?.version ?? '',
    schema: manifest?.schema.number ?? 0,
    database_bytes: database?.size ?? 0,
    files: manifest?.files.count ?? 0,
    file_bytes: manifest?.files.bytes ?? 0,
    missing_files: manifest?.files.missing ?? 0,
    encrypted: manifest?.encryption !== undefined,
    key_inside: manifest?.key_inside ?? false,
    damaged: manifest === null,
  }
}
