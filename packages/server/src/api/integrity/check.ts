import { checkIntegrity } from '@hermod/protocol'
import type { IntegrityService } from '../../domain/integrity/integrity-service.js'
import type { ServiceStateService } from '../../domain/service-state/service-state-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

export function integrityHandlers({
  integrity,
  serviceState,
}: {
  readonly integrity: IntegrityService
  readonly serviceState: ServiceStateService
}): Handler[] {
  return [
    handle(checkIntegrity, async ({ acknowledge: acknowledgesLosses }) => {
      const { checked, faults, isTruncated } = await integrity.check({ acknowledgesLosses })
      return data({
        checked,
        faults: faults.map(({ check, appId, subject, detail }) => ({
          check,
          app_id: appId,
          subject,
          detail,
        })),
        truncated: isTruncated,
        service: await serviceState.get(),
      })
    }),
  ]
}
