import { listPushTaskStatistics, startPushTask } from '@hermod/protocol'
import { readPushRequest } from '../../domain/push/tasks/push-request.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import type { HandlerServices } from '../services.js'

export function pushTaskHandlers({ pushTasks }: Pick<HandlerServices, 'pushTasks'>): Handler[] {
  return [
    handle(startPushTask, async (body, { principal: { appId } }) =>
      data({ task_id: await pushTasks.start(appId, readPushRequest(body)) }),
    ),
    handle(listPushTaskStatistics, async ({ list }, { principal: { appId } }) =>
      data(await pushTasks.statistics(appId, list)),
    ),
  ]
}
