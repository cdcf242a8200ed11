import type { ServerConfig } from '../../config/config.js'
import type { AppService } from '../../domain/apps/app-service.js'
import type { FileReferenceService } from '../../domain/files/references/file-reference-service.js'
import { GroupEvents } from '../../domain/groups/core/group-events.js'
import { GroupImportService } from '../../domain/imports/groups/group-import-service.js'
import { ImportedPositions } from '../../domain/imports/groups/imported-positions.js'
import { MemberImportService } from '../../domain/imports/groups/member-import-service.js'
import { ImportService } from '../../domain/imports/import-service.js'
import { HistoryWriter } from '../../domain/imports/messages/history-writer.js'
import { ImportedMessages } from '../../domain/imports/messages/imported-messages.js'
import { MessageImportService } from '../../domain/imports/messages/message-import-service.js'
import { MessageAlterations } from '../../domain/messaging/operations/message-alterations.js'
import { GroupReaders } from '../../domain/messaging/readers/group-readers.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

interface ImportsOptions {
  readonly config: Pick<ServerConfig, 'messages'>
  readonly apps: AppService
  readonly files: { readonly fileReferences: FileReferenceService }
}

/** Imports from other systems. */
export function createImports(
  { database, stores, outbox, ids, clock }: Infrastructure,
  { config, apps, files: { fileReferences } }: ImportsOptions,
) {
  const { imports, users, groups, members, pinnedMessages } = stores
  const events = new GroupEvents({ groups, outbox })
  const alterations = new MessageAlterations({
    store: stores.messages,
    conversationStore: stores.conversations,
    changes: stores.changes,
    outbox,
  })
  const writer = new HistoryWriter({
    ...{ database, imports, alterations, pinnedMessages },
    readers: stores.readers,
    reactions: stores.reactions,
    files: fileReferences,
  })
  const common = { database, apps, imports, users, groups, clock }
  return {
    services: {
      imports: new ImportService({ database, apps, imports, outbox, clock }),
      groupImports: new GroupImportService({
        ...{ ...common, members, events, ids },
        conversations: new GroupReaders(stores),
      }),
      importedMessages: new ImportedMessages({ database, apps, imports }),
      messageImports: new MessageImportService({
        ...{ ...common, pinnedMessages, writer },
        maxMessageBytes: config.messages.maxMessageBytes,
      }),
      memberImports: new MemberImportService({
        ...{ ...common, members, events },
        positions: new ImportedPositions(database),
      }),
    },
  } satisfies Domain
}
