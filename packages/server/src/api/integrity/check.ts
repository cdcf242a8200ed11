import { checkIntegrity } from '@hermod/protocol'
import type { IntegrityService } from '../../domain/integrity/integrity-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

export function integrityHandlers({
  integrity,
}: {
  readonly integrity: IntegrityService
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
      })
    }),
  ]
}
