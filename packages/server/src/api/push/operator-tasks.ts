import { cancelPushTask, getPushTask, listPushTasks, tracePushByOperator } from '@hermod/protocol'
import { data, type Handler, handle } from '../../pipeline/call.js'
import type { HandlerServices } from '../services.js'
import { toTaskProgress } from './task-progress.js'
import { toTrace } from './trace.js'

export function operatorTaskHandlers({
  apps,
  operatorTasks,
  traces,
}: Pick<HandlerServices, 'apps' | 'operatorTasks' | 'traces'>): Handler[] {
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
