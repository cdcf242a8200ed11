import type { BlobStore } from '../../blobs/blob-store.js'
import type { AppService } from '../../domain/apps/app-service.js'
import { FileAccess } from '../../domain/files/credentials/file-access.js'
import { FileCredentialService } from '../../domain/files/credentials/file-credential-service.js'
import { FileSigner } from '../../domain/files/credentials/file-signer.js'
import { FileCheck } from '../../domain/files/file-check.js'
import { OperatorFileService } from '../../domain/files/operator-file-service.js'
import { FileReferenceConsumer } from '../../domain/files/references/file-reference-consumer.js'
import { FileReferenceService } from '../../domain/files/references/file-reference-service.js'
import { FileRemoval } from '../../domain/files/removal/file-removal.js'
import { StrayBlobs } from '../../domain/files/removal/stray-blobs.js'
import { UnnamedFiles } from '../../domain/files/removal/unnamed-files.js'
import { RenditionService } from '../../domain/files/renditions/rendition-service.js'
import { DownloadService } from '../../domain/files/transfer/download-service.js'
import { FileWriter } from '../../domain/files/transfer/file-writer.js'
import { TicketService } from '../../domain/files/transfer/ticket-service.js'
import { UploadService } from '../../domain/files/transfer/upload-service.js'
import type { RecipientRules } from '../../domain/messaging/sending/recipient-rules.js'
import type { JobQueue } from '../../jobs/job-queue.js'
import type { BatchObserver } from '../../lib/concurrency/batch-queue.js'
import type { SecretKeys } from '../../lib/secrets/secret-keys.js'
import type { Media } from '../engines/media.js'
import type { Foundation } from '../foundation.js'
import type { Groups } from './groups.js'

/** @returns the credentials that logins hand out */
export function createFileCredentials(
  { database, stores, clock }: Foundation,
  { secretKeys }: { readonly secretKeys: SecretKeys },
): { readonly fileCredentials: FileCredentialService } {
  return {
    fileCredentials: new FileCredentialService({
      database,
      users: stores.users,
      clock,
      secretKeys,
    }),
  }
}

export interface Files {
  readonly downloads: DownloadService
  readonly fileTickets: TicketService
  readonly fileWriter: FileWriter
  readonly uploads: UploadService
}

export interface FilesOptions {
  readonly apps: AppService
  readonly blobs: BlobStore
  readonly groups: Pick<Groups, 'groupAccess' | 'groupCache'>
  readonly media: Media
  readonly observer: BatchObserver
  readonly recipientRules: RecipientRules
  readonly secretKeys: SecretKeys
}

export function createFiles(
  { database, stores, clock }: Foundation,
  { apps, blobs, groups, media, observer, recipientRules, secretKeys }: FilesOptions,
): Files {
  const { files, fileUsage: usage, peerKinds, users } = stores
  const { detectType, isInlineType, images, voices } = media
  const fileTickets = new TicketService({
    database,
    files,
    usage,
    users,
    peerKinds: {
      find: (appId, peerId) => database.read((db) => peerKinds.find(db, appId, peerId)),
    },
    recipientRules,
    groupAccess: groups.groupAccess,
    fileAccess: new FileAccess(groups.groupCache),
    apps,
    blobs,
    signer: new FileSigner({ apps, secretKeys, clock }),
    clock,
  })
  const writer = new FileWriter({ database, files, usage, users, observer })
  const renditions = new RenditionService({ blobs, images, voices, detectType })
  return {
    downloads: new DownloadService({
      database,
      files,
      tickets: fileTickets,
      renditions,
      blobs,
      isInlineType,
    }),
    fileTickets,
    fileWriter: writer,
    uploads: new UploadService({
      database,
      files,
      writer,
      tickets: fileTickets,
      apps,
      blobs,
      detectType,
      clock,
    }),
  }
}

/** What becomes of files after they were stored. */
export interface FileUpkeep {
  readonly fileCheck: FileCheck
  readonly fileReferences: FileReferenceConsumer
  readonly fileRemoval: FileRemoval
  readonly operatorFiles: OperatorFileService
  readonly strayBlobs: StrayBlobs
  readonly unnamedFiles: UnnamedFiles
}

/** @returns what follows their references, removes them and looks after the store */
export function createFileUpkeep(
  { database, stores, clock }: Foundation,
  {
    apps,
    blobs,
    jobs,
  }: { readonly apps: AppService; readonly blobs: BlobStore; readonly jobs: JobQueue },
): FileUpkeep {
  const { files, fileReferences, fileUsage: usage, namingTexts: texts, outbox } = stores
  const references = new FileReferenceService({
    database,
    references: fileReferences,
    texts,
    usage,
  })
  const removal = new FileRemoval({ database, files, usage, blobs, jobs, unfinished: stores.jobs })
  const strays = new StrayBlobs({ database, files, blobs, clock })
  return {
    fileCheck: new FileCheck({
      ...{ database, files, usage, references, blobs, strays, outbox, clock },
      removals: removal,
    }),
    fileReferences: new FileReferenceConsumer(references),
    fileRemoval: removal,
    operatorFiles: new OperatorFileService({
      ...{ database, files, references: fileReferences, usage, removal, apps },
    }),
    strayBlobs: strays,
    unnamedFiles: new UnnamedFiles({ database, files, usage, outbox, removal, clock }),
  }
}
