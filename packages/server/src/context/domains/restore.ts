import { backupCreation, backupPruning } from '../../domain/backup/backup-service.js'
import { backupVerification } from '../../domain/backup/verification-service.js'
import type { ErasureService } from '../../domain/erasure/erasure-service.js'
import { ErasureRepeats } from '../../domain/restore/erasure-repeats.js'
import { RestoreService } from '../../domain/restore/restore-service.js'
import { RestoreStore } from '../../domain/restore/restore-store.js'
import type { ServiceStateService } from '../../domain/service-state/service-state-service.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

const backupKinds = [backupCreation, backupPruning, backupVerification].map(({ name }) => name)

export function createRestore(
  { database, stores, clock }: Infrastructure,
  {
    state,
    erasures,
    dataDir,
  }: {
    readonly state: ServiceStateService
    readonly erasures: ErasureService
    readonly dataDir: string
  },
) {
  const repeats = new ErasureRepeats({ database, erasures, users: stores.users, dataDir })
  const restores = new RestoreService({
    database,
    store: new RestoreStore(),
    apps: stores.apps,
    tokens: stores.tokens,
    tasks: stores.pushTasks,
    deliveries: stores.pushDeliveries,
    backupJobs: { cancelAll: (tx, now) => stores.longJobs.cancelKinds(tx, backupKinds, now) },
    outbox: stores.outbox,
    state,
    repeatErasures: () => repeats.run(),
    clock,
  })
  return { services: { restores } } satisfies Domain
}
