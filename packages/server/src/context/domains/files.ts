import type { BlobStore } from '../../blobs/blob-store.js'
import type { AppService } from '../../domain/apps/app-service.js'
import { databaseNow } from '../../db/database-now.js'
import { FileCredentialService } from '../../domain/files/credentials/file-credential-service.js'
import { FileCheck } from '../../domain/files/file-check.js'
import { FileHoldStore } from '../../domain/files/file-hold-store.js'
import { FileQuota } from '../../domain/files/file-quota.js'
import { FileReferenceStore } from '../../domain/files/file-reference-store.js'
import { FileUsageStore } from '../../domain/files/file-usage-store.js'
import { FileRecipients } from '../../domain/files/file-recipients.js'
import { FileAccess } from '../../domain/files/links/file-access.js'
import { ForwardingService } from '../../domain/files/links/forwarding-service.js'
import { LinkReader } from '../../domain/files/links/link-reader.js'
import { LinkSigner } from '../../domain/files/links/link-signer.js'
import { OperatorFileService } from '../../domain/files/operator-file-service.js'
import { FileReferenceConsumer } from '../../domain/files/references/file-reference-consumer.js'
import { FileReferenceService } from '../../domain/files/references/file-reference-service.js'
import { ReferencingTextStore } from '../../domain/files/references/referencing-text-store.js'
import { blobRemovalHandler } from '../../domain/files/removal/blob-removal-job.js'
import { FileHolds } from '../../domain/files/removal/file-holds.js'
import { FileErasure } from '../../domain/files/removal/file-erasure.js'
import { FileRemoval } from '../../domain/files/removal/file-removal.js'
import { OrphanedBlobs } from '../../domain/files/removal/orphaned-blobs.js'
import { UnreferencedFiles } from '../../domain/files/removal/unreferenced-files.js'
import { RenditionService } from '../../domain/files/renditions/rendition-service.js'
import { TicketReader } from '../../domain/files/tickets/ticket-reader.js'
import { TicketService } from '../../domain/files/tickets/ticket-service.js'
import { TicketSigner } from '../../domain/files/tickets/ticket-signer.js'
import { DownloadService } from '../../domain/files/transfer/download-service.js'
import { FileWriter } from '../../domain/files/transfer/file-writer.js'
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
    devices: stores.devices,
    clock,
    secretKeys,
  })
}

interface FilesOptions {
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
) {
  const { files, fileWithdrawals: withdrawals, outbox, peerKinds, users } = stores
  const fileReferences = new FileReferenceStore(database)
  const usage = new FileUsageStore()
  const { detectType, detectStoredType, isInlineType, typeOfName, images, voices } = media
  const { groupAccess } = groups
  const quota = new FileQuota({ database, usage })
  const recipients = new FileRecipients({
    peerKinds: {
      find: async (appId, peerId) => database.read((db) => peerKinds.find(db, appId, peerId)),
    },
    recipientRules,
    groupAccess,
  })
  const ticketSigner = new TicketSigner({ secretKeys, clock })
  const linkSigner = new LinkSigner({ apps, clock })
  const links = new LinkReader({
    database,
    files,
    signer: linkSigner,
    access: new FileAccess({ database, groups: groups.groupCache, withdrawals }),
  })
  const fileWriter = new FileWriter({
    database,
    files,
    usage,
    users,
    observer: metrics.storage.batches.files,
  })
  const renditions = new RenditionService({ blobs, images, voices, detectType, clock })
  const references = new FileReferenceService({
    database,
    references: fileReferences,
    texts: new ReferencingTextStore(database),
    usage,
  })
  const fileHolds = new FileHolds({
    database,
    store: new FileHoldStore(databaseNow(database.dialect, clock)),
  })
  const removal = new FileRemoval({
    ...{ database, files, usage, withdrawals, blobs, jobs, holds: fileHolds },
    unfinished: stores.jobs,
  })
  const orphans = new OrphanedBlobs({ database, files, blobs, holds: fileHolds, clock })
  const unreferencedFiles = new UnreferencedFiles({
    database,
    files,
    usage,
    outbox,
    removal,
    clock,
  })
  const services = {
    fileReferences: references,
    downloads: new DownloadService({
      database,
      files,
      links,
      renditions,
      blobs,
      isInlineType,
      typeOfName,
    }),
    fileCheck: new FileCheck({
      ...{ database, files, usage, references, blobs, orphans, outbox, clock },
      removals: removal,
    }),
    fileCredentials,
    fileHolds,
    fileErasure: new FileErasure({ database, files, removal, hasBlobs: blobs.kind !== 'none' }),
    fileForwarding: new ForwardingService({ apps, recipients, links, signer: linkSigner }),
    fileTicketReader: new TicketReader({
      ...{ database, users, signer: ticketSigner },
      groups: groups.groupCache,
    }),
    fileTickets: new TicketService({
      ...{ database, usage, quota, users, recipients, groupAccess, apps, blobs, clock },
      signer: ticketSigner,
      links: linkSigner,
    }),
    fileWriter,
    operatorFiles: new OperatorFileService({
      ...{ database, files, references: fileReferences, usage, removal, apps },
    }),
    uploads: new UploadService({
      database,
      files,
      writer: fileWriter,
      quota,
      apps,
      blobs,
      detectType,
      detectStoredType,
      isRenderableType: media.isRenderableType,
      images,
      clock,
    }),
  }
  return {
    services,
    consumers: [new FileReferenceConsumer(references)],
    // Blobs are removed by nodes that have them.
    jobHandlers: blobs.kind === 'none' ? [] : [blobRemovalHandler(removal)],
    maintenanceTasks: [
      {
        name: 'unreferenced files',
        intervalMs: minuteMs,
        run: (signal) => unreferencedFiles.run(signal),
      },
      ...(blobs.kind === 'none'
        ? []
        : [
            {
              name: 'orphaned blobs',
              intervalMs: minuteMs,
              run: (signal: AbortSignal) => orphans.run(signal),
            },
          ]),
    ],
  } satisfies Domain
}
