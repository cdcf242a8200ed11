import { operation } from '../../operation.js'
import { PushTaskPage, PushTaskProgress } from '../../resources/push/push.js'
import { PushTrace } from '../../resources/push/push-trace.js'
import {
  appId,
  get,
  id,
  newestFirst,
  operatorOperation,
  post,
  pushTraceParameters,
} from '../fields.js'

const whichTask = { app_id: appId, task_id: id('task ID') }

/** Newest first. A walk over the pages returns every task that exists throughout exactly once. */
export const listPushTasks = operation({
  ...operatorOperation,
  id: 'operator.push.task.list',
  methods: get,
  path: '/operator/v1/push/task/list',
  summary: 'Lists the push tasks of an application, newest first.',
  query: {
    app_id: appId,
    ...newestFirst('tasks'),
  },
  data: PushTaskPage,
  errors: ['app_not_found'],
})

/** State of a task, and its counts on each channel (rule G1). */
export const getPushTask = operation({
  ...operatorOperation,
  id: 'operator.push.task.get',
  methods: get,
  path: '/operator/v1/push/task/get',
  summary: 'Shows how far a push task is.',
  query: whichTask,
  data: PushTaskProgress,
  errors: ['app_not_found', 'push_task_not_found'],
})

/**
 * Safe to repeat. Notifications that were sent stay on the devices; a finished task does not
 * change.
 */
export const cancelPushTask = operation({
  ...operatorOperation,
  id: 'operator.push.task.cancel',
  methods: post,
  path: '/operator/v1/push/task/cancel',
  summary: 'Ends a push task: nothing more is sent of it.',
  body: whichTask,
  data: PushTaskProgress,
  errors: ['app_not_found', 'push_task_not_found'],
})

/** The same as {@link tracePush}. */
export const tracePushByOperator = operation({
  ...operatorOperation,
  id: 'operator.push.trace',
  methods: get,
  path: '/operator/v1/push/trace',
  summary: 'Explains what became of a push for one user.',
  description: 'Give either task_id or msg_id. At most 100 devices.',
  query: { app_id: appId, ...pushTraceParameters },
  data: PushTrace,
  errors: ['app_not_found', 'push_task_not_found', 'user_not_found', 'user_deleted'],
})
