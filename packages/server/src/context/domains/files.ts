import type { BlobStore } from '../../blobs/blob-store.js'
import type { AppService } from '../../domain/apps/app-service.js'
import { DownloadService } from '../../domain/files/download-service.js'
import { FileAccess } from '../../domain/files/file-access.js'
import { FileCredentialService } from '../../domain/files/file-credential-service.js'
import { FileSigner } from '../../domain/files/file-signer.js'
import { FileWriter } from '../../domain/files/file-writer.js'
import { RenditionService } from '../../domain/files/rendition-service.js'
import { TicketService } from '../../domain/files/ticket-service.js'
import { UploadService } from '../../domain/files/upload-service.js'
import type { RecipientRules } from '../../domain/messaging/sending/recipient-rules.js'
import type { BatchObserver } from '../../lib/concurrency/batch-queue.js'
import type { SecretKeys } from '../../lib/secrets/secret-keys.js'
import type { Foundation } from '../foundation.js'
import type { Media } from '../media.js'
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
      find: (appId, peerId) => database.read(async (db) => peerKinds.find(db, appId, peerId)),
    },
    recipientRules,
    groupAccess: groups.groupAccess,
    fileAccess: new FileAccess(groups.groupCache),
    apps,
    blobs,
    signer: new FileSigner(secretKeys, clock),
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
