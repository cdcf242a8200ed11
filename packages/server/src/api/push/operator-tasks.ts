import { cancelPushTask, getPushTask, listPushTasks, tracePushByOperator } from '@hermod/protocol'
import type { AppService } from '../../domain/apps/app-service.js'
import type { OperatorTaskService } from '../../domain/push/tasks/operator-task-service.js'
import type { TraceService } from '../../domain/push/trace/trace-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { toTaskProgress } from './task-progress.js'
import { toTrace } from './trace.js'

export function operatorTaskHandlers({
  apps,
  operatorTasks,
  traces,
}: {
  readonly apps: AppService
  readonly operatorTasks: OperatorTaskService
  readonly traces: TraceService
}): Handler[] {
  return [
    handle(listPushTasks, async ({ app_id, cursor, limit }) => {
      const { tasks, nextCursor } = await operatorTasks.list(app_id, { cursor, limit })
      return data({ tasks: tasks.map(toTaskProgress), next_cursor: nextCursor })
    }),
    handle(getPushTask, async ({ app_id: appId, task_id: taskId }) =>
      data(toTaskProgress(await operatorTasks.get({ appId, taskId }))),
    ),
    handle(cancelPushTask, async ({ app_id: appId, task_id: taskId }) =>
      data(toTaskProgress(await operatorTasks.cancel({ appId, taskId }))),
    ),
    handle(tracePushByOperator, async ({ app_id, user_id, ...which }) => {
      await apps.get(app_id)
      return data(toTrace(await traces.trace(app_id, which, user_id)))
    }),
  ]
}
