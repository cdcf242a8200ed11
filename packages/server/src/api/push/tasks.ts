import { listPushTaskStatistics, startPushTask } from '@hermod/protocol'
import { readPushRequest } from '../../domain/push/tasks/push-request.js'
import type { PushTaskService } from '../../domain/push/tasks/push-task-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

export function pushTaskHandlers({
  pushTasks,
}: {
  readonly pushTasks: PushTaskService
}): Handler[] {
  return [
    handle(startPushTask, async (body, { principal: { appId } }) =>
      data({ task_id: await pushTasks.start(appId, readPushRequest(body)) }),
    ),
    handle(listPushTaskStatistics, async ({ list }, { principal: { appId } }) =>
      data(await pushTasks.statistics(appId, list)),
    ),
  ]
}
