import { operation } from '../../operation.js'
import { PushTrace } from '../../resources/push/push-trace.js'
import { optional, stringEnum } from '../../schema.js'
import { done, get, id, post, pushTraceParameters } from '../fields.js'

const tag = 'Push'

/**
 * For channels without receipts from the gateway. Counts once per device, even when both the
 * gateway and the app confirm it (rule G1).
 */
export const reportPush = operation({
  id: 'push.report',
  methods: post,
  path: '/push/report',
  tag,
  summary: 'Tells that a push has reached the device of the token.',
  description:
    'Safe to repeat. 12011 when the push is not for the device, or the login of the token has no ' +
    'device.',
  callers: 'device',
  body: {
    task_id: id('task ID: member `hermod.task_id` of the push'),
    action: optional(
      stringEnum(['received', 'clicked'], {
        description: 'received (default): it has arrived; clicked: it was opened',
      }),
    ),
  },
  data: done,
  errors: ['push_task_not_found'],
  origin: 'extension',
})

/** Deliveries are kept for a few days (HERMOD_PUSH_TRACE_DAYS), tasks for longer. Rule G9. */
export const tracePush = operation({
  id: 'push.trace',
  methods: get,
  path: '/push/trace',
  tag,
  summary: 'Explains what became of a push for one user.',
  description: 'Give either task_id or msg_id. At most 100 devices.',
  callers: 'admin',
  scopes: ['push'],
  query: pushTraceParameters,
  data: PushTrace,
  errors: ['push_task_not_found', 'user_not_found', 'user_deleted'],
  origin: 'extension',
})
