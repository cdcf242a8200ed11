import { sessionOpenData, sessionOpenOp, sessionOpenParameters } from '../../gateway/session.js'
import { operation } from '../../operation.js'

/**
 * The first call of a connection of the gateway. It has no address, so it is none of `operations`;
 * its parameters hold its credentials.
 */
export const openSession = operation({
  id: sessionOpenOp,
  methods: [],
  path: '',
  tag: 'Realtime',
  summary: 'Opens the session of a connection.',
  callers: 'user',
  scopes: ['messages:read'],
  body: sessionOpenParameters,
  data: sessionOpenData,
  countsForApp: false,
  origin: 'extension',
  errors: ['user_not_found', 'user_deleted', 'no_permission', 'session_limit_reached'],
})
