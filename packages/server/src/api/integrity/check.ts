import { checkIntegrity } from '@hermod/protocol'
import { data, type Handler, handle } from '../../pipeline/call.js'
import type { HandlerServices } from '../services.js'

export function integrityHandlers({ integrity }: Pick<HandlerServices, 'integrity'>): Handler[] {
  return [
    handle(checkIntegrity, async () => {
      const { checked, faults, isTruncated } = await integrity.check()
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
