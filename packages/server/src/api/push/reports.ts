import { reportPush, tracePush } from '@hermod/protocol'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'
import type { HandlerServices } from '../services.js'
import { toTrace } from './trace.js'

export function pushReportHandlers({
  pushReports,
  traces,
}: Pick<HandlerServices, 'pushReports' | 'traces'>): Handler[] {
  return [
    handle(reportPush, ({ task_id, action = 'received' }, { principal }) =>
      whenDone(
        pushReports.report(principal, task_id, action === 'received' ? 'delivered' : 'clicked'),
      ),
    ),
    handle(tracePush, async ({ user_id, ...which }, { principal }) =>
      data(toTrace(await traces.trace(principal.appId, which, user_id))),
    ),
  ]
}
