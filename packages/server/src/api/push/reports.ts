import { reportPush, tracePush } from '@hermod/protocol'
import type { ReportService } from '../../domain/push/receipts/report-service.js'
import type { TraceService } from '../../domain/push/trace/trace-service.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'
import { toTrace } from './trace.js'

export function pushReportHandlers({
  pushReports,
  traces,
}: {
  readonly pushReports: ReportService
  readonly traces: TraceService
}): Handler[] {
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
