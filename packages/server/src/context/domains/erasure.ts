import { join } from 'node:path'
import { AppError, systemUserId } from '@hermod/protocol'
import { KnownTargets } from '../../backup/known-targets.js'
import type { BlobStore } from '../../blobs/blob-store.js'
import type { ServerConfig } from '../../config/config.js'
import type { AppService } from '../../domain/apps/app-service.js'
import { listCopies } from '../../db/migrations/database-copies.js'
import { ErasedCheck } from '../../domain/erasure/erased-check.js'
import { type ErasureStep, userErasure } from '../../domain/erasure/erasure-model.js'
import { ErasureService } from '../../domain/erasure/erasure-service.js'
import { ErasureStore } from '../../domain/erasure/erasure-store.js'
import { DataExportService, dataExport } from '../../domain/erasure/export/data-export-service.js'
import { ExportStore } from '../../domain/erasure/export/export-store.js'
import { HoldService } from '../../domain/erasure/holds/hold-service.js'
import { PersonalRowsStore } from '../../domain/erasure/personal-rows-store.js'
import { type LongJobs, longJobHandler } from '../../domain/long-jobs/long-job-model.js'
import { pause } from '../../lib/concurrency/pause.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'
import type { createFiles } from './files.js'
import type { GroupServices } from './groups.js'
import type { createMessaging } from './messaging.js'
import type { createPush } from './push.js'
import type { createUsers } from './users.js'
import type { createWebhooks } from './webhooks.js'

interface CreateErasureOptions {
  readonly config: Pick<ServerConfig, 'dataDir' | 'storage'>
  readonly apps: AppService
  readonly blobs: BlobStore
  readonly longJobs: LongJobs
  readonly services: {
    readonly files: Pick<ReturnType<typeof createFiles>['services'], 'fileErasure'>
    readonly groups: Pick<GroupServices, 'contentErasure'>
    readonly messaging: Pick<
      ReturnType<typeof createMessaging>['services'],
      'messageErasure' | 'reactionRemoval'
    >
    readonly push: Pick<ReturnType<typeof createPush>['services'], 'taskErasure'>
    readonly users: Pick<ReturnType<typeof createUsers>['services'], 'deletions' | 'textErasures'>
    readonly webhooks: Pick<ReturnType<typeof createWebhooks>['services'], 'webhookAttempts'>
  }
}

const tokensPerStep = 500
/** The time for which an erasure waits for a read that holds the log of the embedded database. */
const logWaitMs = 600_000
const logPauseMs = 250
/** Sends go on between two steps. */
const scrubPauseMs = 20

/** Erasures, holds and data exports of persons; each step is a part of another domain. */
export function createErasure(
  infrastructure: Infrastructure,
  { config, apps, blobs, longJobs, services }: CreateErasureOptions,
) {
  const { database, stores, clock } = infrastructure
  const store = new ErasureStore()
  const rows = new PersonalRowsStore()
  const holds = new HoldService({
    ...{ database, apps, clock },
    holds: stores.erasureHolds,
    kindOf: (db, appId, peerId) => stores.peerKinds.find(db, appId, peerId),
  })
  const { textErasures } = services.users
  const { taskErasure } = services.push
  const check = new ErasedCheck({
    ...{ database, store, rows, apps },
    users: stores.users,
    texts: [
      {
        place: 'outbox, webhook_events',
        count: (user, _, signal) => textErasures.countTexts(user, signal),
      },
      {
        place: 'push_tasks',
        count: (user, mode, signal) =>
          taskErasure.count(user, { keepsMessages: mode === 'keep', signal }),
      },
    ],
    files: async () => {
      if (config.storage.kind !== 'sqlite') return []
      const path = join(config.dataDir, 'hermod.db')
      const copies = await listCopies(path)
      return [
        ...[path, `${path}-wal`].map((each) => ({ path: each, isCopy: false })),
        ...copies.map((each) => ({ path: each, isCopy: true })),
      ]
    },
  })
  const dataExports = new DataExportService({
    ...{ database, blobs, clock },
    store: new ExportStore(),
    files: stores.files,
    jobs: longJobs,
    folder: join(config.dataDir, 'exports'),
  })
  const removingExports: ErasureStep = {
    text: 'removing data exports',
    run: (user) => dataExports.removeOwn(user),
  }
  const erasures = new ErasureService({
    ...{ database, store, rows, holds, check, apps, clock },
    steps: [...erasureSteps(infrastructure, services), removingExports],
    scrub: (signal) => scrub(database, signal),
    jobs: longJobs,
    dataDir: config.dataDir,
    backupFolders: () => new KnownTargets(config.dataDir).list(),
  })
  return {
    services: { dataExports, erasures, erasedCheck: check, holds },
    longJobHandlers: [
      longJobHandler(userErasure, (order, run) => erasures.erase(order, run)),
      longJobHandler(dataExport, (order, run) => dataExports.export(order, run)),
    ],
  } satisfies Domain
}

/** The parts of an erasure in their order: the deletion first, so that nothing new comes. */
function erasureSteps(
  { database, stores }: Infrastructure,
  { files, groups, messaging, push, users, webhooks }: CreateErasureOptions['services'],
): readonly ErasureStep[] {
  return [
    {
      text: 'deleting the user',
      async run({ appId, userId }) {
        try {
          await users.deletions.delete({ appId, userId, actorId: systemUserId, proof: null })
        } catch (error) {
          if (!(error instanceof AppError && error.errorName === 'user_deleted')) throw error
        }
      },
    },
    {
      text: 'erasing reactions',
      run: (user, { signal }) => messaging.reactionRemoval.remove(user, signal),
    },
    {
      text: 'erasing messages',
      run: (user, run) => messaging.messageErasure.erase(user, user.messages, run),
    },
    {
      text: 'erasing announcements and shared files',
      run: (user, { signal }) => groups.contentErasure.erase(user, signal),
    },
    {
      text: 'removing files',
      run: (user, { signal }) =>
        files.fileErasure.erase(user, { keepsChats: user.messages === 'keep', signal }),
    },
    {
      text: 'erasing pushes',
      run: (user, { signal }) =>
        push.taskErasure.erase(user, { keepsMessages: user.messages === 'keep', signal }),
    },
    {
      text: 'erasing tokens',
      async run(user) {
        while ((await database.read((db) => stores.tokens.count(db, user))) > 0)
          await database.transaction((tx) =>
            stores.tokens.deleteOldest(tx, user, { keep: 0, limit: tokensPerStep }),
          )
      },
    },
    {
      text: 'erasing texts of events',
      async run(user, { signal }) {
        await users.textErasures.eraseAll(user, signal)
        await webhooks.webhookAttempts.eraseAnswers(user.appId)
      },
    },
  ]
}

/**
 * Removes earlier values from the file and the log of the embedded database.
 * @returns false where there is none, or it is too large
 */
async function scrub(
  { dialect }: Infrastructure['database'],
  signal: AbortSignal,
): Promise<boolean> {
  if (!dialect.scrub) return false
  let heldSince: number | null = null
  for (let from = 1; ; ) {
    signal.throwIfAborted()
    const next = await dialect.scrub(from)
    if (next === null) return true
    if (next === 'too_large') return false
    if (next === 'held') {
      heldSince ??= performance.now()
      if (performance.now() - heldSince > logWaitMs)
        throw new Error(
          'a backup or another long read holds the log of the database; order the erasure again when it has ended',
        )
    } else {
      heldSince = null
      from = next
    }
    await pause(next === 'held' ? logPauseMs : scrubPauseMs, signal)
  }
}
