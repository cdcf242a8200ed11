import { beginMaintenance, endMaintenance, getServiceStatus } from '@hermod/protocol'
import type { ServiceStateService } from '../../domain/service-state/service-state-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

export function serviceStateHandlers({
  serviceState,
}: {
  readonly serviceState: ServiceStateService
}): Handler[] {
  return [
    handle(getServiceStatus, async () => data(await serviceState.get())),
    handle(beginMaintenance, async ({ text = '' }) =>
      data(await serviceState.beginMaintenance(text)),
    ),
    handle(endMaintenance, async () => data(await serviceState.endMaintenance())),
  ]
}
