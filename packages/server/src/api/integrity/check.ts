import { checkIntegrity, upkeepChecks } from '@hermod/protocol'
import type { AlertService } from '../../domain/alerts/alert-service.js'
import type { IntegrityFault, IntegrityService } from '../../domain/integrity/integrity-service.js'
import type { ServiceStateService } from '../../domain/service-state/service-state-service.js'
import { counted } from '../../lib/counted.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

export function integrityHandlers({
  integrity,
  serviceState,
  alerts,
}: {
  readonly integrity: IntegrityService
  readonly serviceState: ServiceStateService
  readonly alerts: Pick<AlertService, 'reportIntegrity'>
}): Handler[] {
  return [
    handle(checkIntegrity, async ({ acknowledge: acknowledgesLosses }) => {
      const { checked, faults, isTruncated } = await integrity.check({ acknowledgesLosses })
      await alerts.reportIntegrity(findingOf(faults))
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

/** Returns a sentence about faults of the data; other alerts are about the rest. '' = there are none. */
function findingOf(faults: readonly IntegrityFault[]): string {
  const ofData = faults.filter(({ check }) => !(check in upkeepChecks))
  const [first] = ofData
  if (!first) return ''
  const { check, subject, detail } = first
  return `hermod check found ${counted(ofData.length, 'wrong fact')}; the first is ${check} of ${subject}: ${detail}`
}
