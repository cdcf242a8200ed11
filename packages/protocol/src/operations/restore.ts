import { operation } from '../operation.js'
import { FinishedRestore, RestoreStatus } from '../resources/operator/restore.js'
import { boolean, optional } from '../schema.js'
import { get, operatorOperation, post } from './fields.js'

/** Also answers what `finish` would leave on a service that is not restored. */
export const getRestoreStatus = operation({
  ...operatorOperation,
  id: 'operator.restore.status',
  methods: get,
  path: '/operator/v1/restore/status',
  summary: 'Returns what a restored service sends once the restore is finished.',
  data: RestoreStatus,
})

/**
 * Ends pushes of messages that are older than five minutes and pushes to connected devices, erases
 * again who was erased after the backup, and reserves IDs above those that the lost service may have
 * issued. From its answer on the service serves users and sends. After a failure it is called again.
 */
export const finishRestore = operation({
  ...operatorOperation,
  id: 'operator.restore.finish',
  methods: post,
  path: '/operator/v1/restore/finish',
  summary: 'Begins the service on restored data.',
  body: {
    end_logins: optional(
      boolean({ description: 'true: ends all tokens of users, who log in again' }),
    ),
  },
  data: FinishedRestore,
  errors: ['not_restored', 'erasure_held', 'erasure_unfinished'],
})
