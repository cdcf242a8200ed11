/** The data of a backup, and the run that makes one. */
import type { BlobStore } from '../blobs/blob-store.js'
import type { PausedCheckpoints } from '../db/dialect/sqlite-checkpointer.js'
import type { FilePlace, NamedPage } from './database-facts.js'
import type { NewBackupKeys } from './encryption/backup-secrets.js'
import type { IncomingBackup } from './target.js'
import type { BackupThread } from './thread.js'

/** The progress of long work. */
export interface BackupProgress {
  readonly done: number
  readonly total: number
  readonly text: string
}

/** Work that can be ended, and that reports its progress. */
export interface BackupRun {
  readonly signal: AbortSignal
  progress(progress: BackupProgress): void
}

/** Keeps blobs from being removed until it is disposed. */
export interface FileHold extends AsyncDisposable {
  /** Aborted when blobs may have been removed. */
  readonly lost: AbortSignal
}

/** The data of a backup. */
export interface BackupSource {
  /** Null: a backup of the files alone, whose rows `listFiles` has. */
  readonly database: {
    /** Keeps the file of the database as it is. */
    pauseCheckpoints(): Promise<PausedCheckpoints>
    /** The folder of the log, whose disk bounds it. */
    readonly folder: string
    /** The most bytes by which the log may grow; null: a quarter of the free disk. */
    readonly logBytes: number | null
    /** The place of the copy for an encrypted backup, on a disk that may have it in plain. */
    readonly copyPath: string
    /** The bytes of that disk which the copy leaves free, for what the service writes meanwhile. */
    readonly keptBytes: number
  } | null
  /** Lists the files that the rows of a database without a copy name. */
  listFiles(after: FilePlace | null): Promise<NamedPage>
  readonly blobs: Pick<BlobStore, 'kind' | 'location' | 'list'>
  holdFiles(): Promise<FileHold>
  /** Null: the backup is not encrypted. */
  readonly encryption: {
    readonly passphrase: string
    /** The secret key of the service, and the previous one during a rotation. */
    readonly secretKeys: readonly string[]
  } | null
  readonly epoch: string
  /** The name of the newest migration. */
  readonly migration: string
  readonly version: string
  readonly keyFingerprint: string
  /** Milliseconds since 1970. */
  now(): number
}

/** A backup that is being made. */
export interface MakingBackup {
  readonly source: BackupSource
  readonly thread: BackupThread
  readonly target: string
  readonly incoming: IncomingBackup
  readonly ending: AbortSignal
  /** Null: the backup is not encrypted. */
  readonly keys: NewBackupKeys | null
  /** The path of the copied database. */
  readonly copy: string
  progress(progress: BackupProgress): void
  /** Ends the backup with a failure. */
  end(error: Error): void
}
