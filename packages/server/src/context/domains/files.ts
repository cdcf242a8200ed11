import type { BlobStore } from '../../blobs/blob-store.js'
import type { AppService } from '../../domain/apps/app-service.js'
import { FileAccess } from '../../domain/files/credentials/file-access.js'
import { FileCredentialService } from '../../domain/files/credentials/file-credential-service.js'
import { FileSigner } from '../../domain/files/credentials/file-signer.js'
import { FileCheck } from '../../domain/files/file-check.js'
import { OperatorFileService } from '../../domain/files/operator-file-service.js'
import { FileReferenceConsumer } from '../../domain/files/references/file-reference-consumer.js'
import { FileReferenceService } from '../../domain/files/references/file-reference-service.js'
import { blobRemovalHandler } from '../../domain/files/removal/blob-removal-job.js'
import { FileRemoval } from '../../domain/files/removal/file-removal.js'
import { StrayBlobs } from '../../domain/files/removal/stray-blobs.js'
import { UnnamedFiles } from '../../domain/files/removal/unnamed-files.js'
import { RenditionService } from '../../domain/files/renditions/rendition-service.js'
import { DownloadService } from '../../domain/files/transfer/download-service.js'
import { FileWriter } from '../../domain/files/transfer/file-writer.js'
import { TicketService } from '../../domain/files/transfer/ticket-service.js'
import { UploadService } from '../../domain/files/transfer/upload-service.js'
import type { RecipientRules } from '../../domain/messaging/sending/recipient-rules.js'
import { minuteMs } from '../../lib/clock.js'
import type { SecretKeys } from '../../lib/secrets/secret-keys.js'
import type { Media } from '../adapters/media.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'
import type { GroupServices } from './groups.js'

/** Logins hand out these credentials. */
export function createFileCredentials(
  { database, stores, clock }: Infrastructure,
  { secretKeys }: { readonly secretKeys: SecretKeys },
): FileCredentialService {
  return new FileCredentialService({
    database,
    users: stores.users,
    clock,
    secretKeys,
  })
}

export interface FileServices {
  readonly downloads: DownloadService
  readonly fileCheck: FileCheck
  readonly fileCredentials: FileCredentialService
  readonly fileTickets: TicketService
  readonly fileWriter: FileWriter
  readonly operatorFiles: OperatorFileService
  readonly uploads: UploadService
}

export interface FilesOptions {
  readonly apps: AppService
  readonly blobs: BlobStore
  readonly fileCredentials: FileCredentialService
  readonly groups: Pick<GroupServices, 'groupAccess' | 'groupCache'>
  readonly media: Media
  readonly recipientRules: RecipientRules
  readonly secretKeys: SecretKeys
}

export function createFiles(
  { database, stores, jobs, clock, metrics }: Infrastructure,
  { apps, blobs, fileCredentials, groups, media, recipientRules, secretKeys }: FilesOptions,
): Domain<FileServices> {
  const {
    files,
    fileReferences,
    fileUsage: usage,
    namingTexts: texts,
    outbox,
    peerKinds,
    users,
  } = stores
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
  const fileWriter = new FileWriter({
    database,
    files,
    usage,
    users,
    observer: metrics.batches.files,
  })
  const renditions = new RenditionService({ blobs, images, voices, detectType })
  const references = new FileReferenceService({
    database,
    references: fileReferences,
    texts,
    usage,
  })
  const removal = new FileRemoval({ database, files, usage, blobs, jobs, unfinished: stores.jobs })
  const strays = new StrayBlobs({ database, files, blobs, clock })
  const unnamedFiles = new UnnamedFiles({ database, files, usage, outbox, removal, clock })
  const services: FileServices = {
    downloads: new DownloadService({
      database,
      files,
      tickets: fileTickets,
      renditions,
      blobs,
      isInlineType,
    }),
    fileCheck: new FileCheck({
      ...{ database, files, usage, references, blobs, strays, outbox, clock },
      removals: removal,
    }),
    fileCredentials,
    fileTickets,
    fileWriter,
    operatorFiles: new OperatorFileService({
      ...{ database, files, references: fileReferences, usage, removal, apps },
    }),
    uploads: new UploadService({
      database,
      files,
      writer: fileWriter,
      tickets: fileTickets,
      apps,
      blobs,
      detectType,
      clock,
    }),
  }
  return {
    services,
    consumers: [new FileReferenceConsumer(references)],
    jobHandlers: [blobRemovalHandler(removal)],
    maintenanceTasks: [
      { name: 'unnamed files', intervalMs: minuteMs, run: (signal) => unnamedFiles.run(signal) },
      { name: 'stray blobs', intervalMs: minuteMs, run: (signal) => strays.run(signal) },
    ],
  }
}
