import type { ProcedureName } from '../../db/procedure.js'
import { movePositions } from '../../domain/messaging/positions/moves/move-positions.js'
import { storeBatch } from '../../domain/messaging/sending/store-batch.js'
import { writeDeliveries } from '../../domain/push/pages/write-deliveries.js'
import { recordResults } from '../../domain/push/sending/record-results.js'

/** All modules of procedures. The writer's thread loads them before the service is ready. */
export const procedures: readonly ProcedureName[] = [
  storeBatch,
  movePositions,
  writeDeliveries,
  recordResults,
]
