import type { ProcedureName } from '../../db/procedure.js'
import { movePositions } from '../../domain/messaging/positions/moves/move-positions.js'
import { storeBatch } from '../../domain/messaging/sending/store-batch.js'
import { countDevices } from '../../domain/push/audience/count-devices.js'
import { storeBatches } from '../../domain/push/audience/store-batches.js'
import { openBatch } from '../../domain/push/batches/open-batch.js'
import { recordAccepted } from '../../domain/push/sending/record-accepted.js'

/** All modules of procedures. The writer's thread loads them before the service is ready. */
export const procedures: readonly ProcedureName[] = [
  storeBatch,
  movePositions,
  countDevices,
  openBatch,
  storeBatches,
  recordAccepted,
]
